//! Making a failing schedule short: leave out decisions, or make them tamer, while it still fails.

/// Worlds tried before the shortest so far is good enough.
const ATTEMPTS: usize = 3000;

/// A schedule that still fails, from which hardly anything can be left out.
pub(super) fn shrink(mut failing: Vec<u32>, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let mut left = ATTEMPTS;
    let mut try_it = |failing: &mut Vec<u32>, shorter: Vec<u32>| {
        let is_better = left > 0 && {
            left -= 1;
            fails(&shorter)
        };
        if is_better {
            *failing = shorter;
        }
        is_better
    };
    loop {
        let before = failing.clone();
        let mut chunk = failing.len().max(1);
        while chunk > 0 {
            let mut start = 0;
            while start < failing.len() {
                let end = (start + chunk).min(failing.len());
                let mut without = failing.clone();
                without.drain(start..end);
                if try_it(&mut failing, without) {
                    continue;
                }
                let mut tame = failing.clone();
                tame[start..end].fill(0);
                if tame != failing {
                    try_it(&mut failing, tame);
                }
                start += chunk;
            }
            chunk /= 2;
        }
        while failing.last() == Some(&0) {
            failing.pop();
        }
        if failing == before {
            return failing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let fails = |schedule: &[u32]| schedule.contains(&7) && schedule.contains(&9);
        assert_eq!(shrink(vec![1, 2, 7, 0, 0, 4, 9, 3, 3, 8], fails), [7, 9]);
    }

    #[test]
    fn what_must_keep_its_place_keeps_it() {
        let fails = |schedule: &[u32]| schedule.get(3) == Some(&5);
        assert_eq!(shrink(vec![1, 2, 7, 5, 6], fails), [0, 0, 0, 5]);
    }
}
