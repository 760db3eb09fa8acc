//! Which event types a wait hears: segments split at `.`, `*` for exactly one, `**` for one or more.

use crate::error::{Error, Result};

/// The longest pattern: it is an index key.
const MAX_LEN: usize = 255;

/// Checks a pattern or an event type.
///
/// # Errors
/// When it is empty, too long, or has an empty segment.
pub fn check(pattern: &str) -> Result<()> {
    let invalid = |message: String| Error::Invalid { what: "event pattern".into(), message };
    if pattern.is_empty() || pattern.len() > MAX_LEN {
        return Err(invalid(format!("{pattern:?} must be 1 to {MAX_LEN} bytes")));
    }
    if pattern.split('.').any(str::is_empty) {
        return Err(invalid(format!("{pattern:?} has an empty segment")));
    }
    Ok(())
}

/// Whether a pattern covers an event type. `a.*` covers `a.b`, not `a.b.c`; `a.**` covers both.
#[must_use]
pub fn matches(pattern: &str, event_type: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == event_type;
    }
    let pattern: Vec<&str> = pattern.split('.').collect();
    let event_type: Vec<&str> = event_type.split('.').collect();
    covers(&pattern, &event_type)
}

/// Greedy with one way back, so that many `**` cost no more than one: the last `**` takes one
/// segment more whenever what follows it does not fit.
fn covers(pattern: &[&str], segments: &[&str]) -> bool {
    let (mut p, mut s) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while s < segments.len() {
        match pattern.get(p) {
            Some(&"**") => {
                // It takes one segment now, and more if need be.
                retry = Some((p + 1, s + 1));
                (p, s) = (p + 1, s + 1);
            }
            Some(&segment) if segment == "*" || segment == segments[s] => (p, s) = (p + 1, s + 1),
            _ => match retry {
                Some((after, taken)) => {
                    retry = Some((after, taken + 1));
                    (p, s) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    p == pattern.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_is_one_segment_and_two_are_one_or_more() {
        for (pattern, event_type, expected) in [
            ("payment.received", "payment.received", true),
            ("payment.*", "payment.received", true),
            ("payment.*", "payment", false),
            ("payment.*", "payment.card.received", false),
            ("payment.**", "payment.card.received", true),
            ("payment.**", "payment", false),
            ("*.created", "order.created", true),
            ("**.created", "a.b.created", true),
            ("**.created", "created", false),
            ("finance.*.approved", "finance.q3.approved", true),
            ("**", "a.b.c", true),
            ("**.b.**", "a.b.b.c", true),
            ("a.**.c.*", "a.b.c.c.d", true),
            ("a.**.c", "a.c", false),
            ("*", "a", true),
            ("a*", "ab", false),
        ] {
            assert_eq!(matches(pattern, event_type), expected, "{pattern} on {event_type}");
        }
    }

    /// The rule written down as it is said, to compare with.
    fn naive(pattern: &[&str], segments: &[&str]) -> bool {
        match (pattern.first(), segments.first()) {
            (None, None) => true,
            (Some(&"**"), Some(_)) => {
                (1..=segments.len()).any(|taken| naive(&pattern[1..], &segments[taken..]))
            }
            (Some(&"*"), Some(_)) => naive(&pattern[1..], &segments[1..]),
            (Some(p), Some(s)) if p == s => naive(&pattern[1..], &segments[1..]),
            _ => false,
        }
    }

    #[test]
    fn random_patterns_agree_with_the_rule_as_it_is_said() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut text = |words: &[&'static str]| -> Vec<&'static str> {
            (0..random.usize(1..7)).map(|_| words[random.usize(..words.len())]).collect()
        };
        for _ in 0..50_000 {
            let (pattern, segments) = (text(&["a", "b", "*", "**"]), text(&["a", "b"]));
            assert_eq!(
                covers(&pattern, &segments),
                naive(&pattern, &segments),
                "{pattern:?} {segments:?}"
            );
        }
    }

    #[test]
    fn empty_segments_and_endless_patterns_are_refused() {
        assert!(check("a..b").is_err() && check("").is_err() && check(".a").is_err());
        assert!(check(&"a".repeat(256)).is_err());
        assert!(check("a.*.**").is_ok());
    }
}
