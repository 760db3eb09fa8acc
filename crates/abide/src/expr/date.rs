//! `Date.parse`, for the one format that every JavaScript engine reads alike: ISO 8601.

/// Milliseconds since 1970, or `None` when the text is not a date.
///
/// A text without an offset is UTC, so that a filter means the same on every machine.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |month| digits(month, 2))?;
    let day = parts.next().map_or(Some(1), |day| digits(day, 2))?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let midnight = days_since_1970(year, month, day) * 86_400_000;
    Some(midnight + time.map_or(Some(0), time_of_day)?)
}

/// `HH:mm[:ss[.sss]][Z|±HH:mm]` in milliseconds.
fn time_of_day(text: &str) -> Option<i64> {
    let (clock, offset) = match text.find(['Z', '+', '-']) {
        Some(at) => (text.get(..at)?, offset(text.get(at..)?)?),
        None => (text, 0),
    };
    let mut parts = clock.splitn(3, ':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let (second, fraction) = match parts.next() {
        Some(seconds) => match seconds.split_once('.') {
            Some((whole, fraction)) => (digits(whole, 2)?, milliseconds(fraction)?),
            None => (digits(seconds, 2)?, 0),
        },
        None => (0, 0),
    };
    let end_of_day = hour == 24 && minute == 0 && second == 0 && fraction == 0;
    if (hour > 23 && !end_of_day) || minute > 59 || second > 59 {
        return None;
    }
    Some((hour * 3600 + minute * 60 + second) * 1000 + fraction - offset)
}

fn offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn milliseconds(fraction: &str) -> Option<i64> {
    digits(fraction, fraction.len()).filter(|_| (1..=9).contains(&fraction.len()))?;
    digits(format!("{fraction:0<3}").get(..3)?, 3)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let right = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if right { text.parse().ok() } else { None }
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counted in years that begin in March, so that a leap day is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let century = year.div_euclid(400);
    let of_century = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    century * 146_097 + of_century * 365 + of_century / 4 - of_century / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_dates_are_read_and_others_are_not() {
        let check = |text: &str, expect: Option<i64>| assert_eq!(parse(text), expect, "{text}");
        check("1970-01-01", Some(0));
        check("1970", Some(0));
        check("1970-02", Some(31 * 86_400_000));
        check("2024-02-29T12:30:45.678Z", Some(1_709_209_845_678));
        check("2024-02-29T12:30:45.6789Z", Some(1_709_209_845_678));
        check("2024-02-29T12:30+02:00", Some(1_709_202_600_000));
        check("2024-02-29T12:30", Some(1_709_209_800_000));
        check("2024-02-29T24:00:00Z", Some(1_709_251_200_000));
        check("0000-03-01", Some(-62_162_035_200_000));
        check("2023-02-29", None);
        check("2024-13-01", None);
        check("2024-01-01T25:00", None);
        check("2024-01-01T10", None);
        check("2024-1-1", None);
        check("yesterday", None);
        check("", None);
    }
}
