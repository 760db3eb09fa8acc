//! The processor time of this process, all threads together.
//!
//! On a machine that others use too, this is the one figure of a load that stays put.

use std::time::Duration;

/// The kernel counts in hundredths of a second, whatever its own tick is (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// `None` where there is no `/proc`.
pub(crate) fn used() -> Option<Duration> {
    parse(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Fields 14 and 15: user and system time. The second field is the program's name in parentheses
/// and may contain anything, so fields are counted from behind it.
fn parse(stat: &str) -> Option<Duration> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * (user + system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 4 0 99";
        assert_eq!(parse(stat), Some(Duration::from_secs(2)));
        assert_eq!(parse("nonsense"), None);
    }
}
