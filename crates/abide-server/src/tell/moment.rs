//! Moments and spans as people say them, in the time zone of this machine.

use std::time::Duration;

use abide::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

fn local(at: Timestamp) -> Option<Zoned> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned(TimeZone::system()))
}

/// `14:03:22`.
pub(crate) fn clock(at: Timestamp) -> String {
    local(at).map_or_else(|| at.to_string(), |at| at.strftime("%H:%M:%S").to_string())
}

/// `2026-03-01 14:03:22`.
pub(crate) fn day_and_clock(at: Timestamp) -> String {
    local(at).map_or_else(|| at.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// `14:03:22`, with the day when it is not that of the other moment.
pub(crate) fn clock_as_seen_from(at: Timestamp, from: Timestamp) -> String {
    let day = |at| local(at).map(|at| at.date());
    if day(at) == day(from) { clock(at) } else { day_and_clock(at) }
}

/// `3 s ago`, `in 2 h`, with the day when that is far away.
pub(crate) fn when(at: Timestamp, now: Timestamp) -> String {
    const FAR: Duration = Duration::from_secs(7 * 86_400);
    let distance = if at <= now { now.since(at) } else { at.since(now) };
    if distance > FAR {
        return day_and_clock(at);
    }
    match distance.as_millis() {
        0..1_000 => "now".to_owned(),
        _ if at <= now => format!("{} ago", for_how_long(distance)),
        _ => format!("in {}", for_how_long(distance)),
    }
}

/// `250 ms`, `3 s`, `2 min 5 s`, `4 h`, `2 d`: the largest unit, and the next.
pub(crate) fn for_how_long(span: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = span.as_secs();
    if seconds == 0 {
        return format!("{} ms", span.as_millis());
    }
    let largest = UNITS.iter().position(|(unit, _)| seconds >= *unit).unwrap_or(3);
    let (unit, name) = UNITS[largest];
    let (count, rest) = (seconds / unit, seconds % unit);
    let smaller = UNITS.get(largest + 1).map(|(unit, name)| (rest / unit, name));
    match smaller {
        Some((more, name_of_more)) if more > 0 => {
            format!("{count} {name} {more} {name_of_more}")
        }
        _ => format!("{count} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_largest_units() {
        for (ms, told) in [
            (5, "5 ms"),
            (3_000, "3 s"),
            (125_000, "2 min 5 s"),
            (3_600_000, "1 h"),
            (45 * 60_000, "45 min"),
            (26 * 3_600_000, "1 d 2 h"),
        ] {
            assert_eq!(for_how_long(Duration::from_millis(ms)), told);
        }
    }

    #[test]
    fn moments_are_told_from_now() {
        let now = Timestamp(1_700_000_000_000);
        assert_eq!(when(now, now), "now");
        assert_eq!(when(now.before(Duration::from_secs(61)), now), "1 min 1 s ago");
        assert_eq!(when(now.after(Duration::from_secs(7200)), now), "in 2 h");
        assert!(when(now.after(Duration::from_secs(86_400 * 30)), now).starts_with("2023-12-1"));
    }
}
