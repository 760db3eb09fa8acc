//! Where every decision of a simulated world comes from.
//!
//! A decision is a number below the number of possibilities. Zero is always the tame one, so a
//! schedule is its list of numbers, what is missing at its end is zero, and a schedule is made
//! simpler by leaving numbers out or making them smaller.

/// Makes decisions and remembers them.
pub(super) struct Chooser {
    given: Vec<u32>,
    random: Option<Random>,
    made: Vec<u32>,
}

/// Makes up decisions as long as there are any left to make.
struct Random {
    random: fastrand::Rng,
    left: usize,
}

impl Chooser {
    /// Decides at random, so many times.
    pub(super) fn random(mut random: fastrand::Rng) -> Self {
        // Most races need few steps; now and then a long one.
        let left = if random.u8(..8) == 0 { 400 } else { random.usize(10..120) };
        let random = Some(Random { random, left });
        Self { given: Vec::new(), random, made: Vec::new() }
    }

    /// Decides as it was decided before.
    pub(super) fn replay(given: Vec<u32>) -> Self {
        Self { given, random: None, made: Vec::new() }
    }

    /// Whether anything but the tame is still to come.
    pub(super) fn is_spent(&self) -> bool {
        match &self.random {
            Some(random) => random.left == 0,
            None => self.made.len() >= self.given.len(),
        }
    }

    /// One of several possibilities, each with its weight.
    pub(super) fn pick(&mut self, weights: &[u32]) -> usize {
        if self.is_spent() {
            return 0;
        }
        let choice = match &mut self.random {
            Some(random) => random.pick(weights),
            None => self.given[self.made.len()],
        };
        self.made.push(choice);
        // A shortened schedule may name a possibility that is no longer there.
        let choice = choice as usize;
        if choice < weights.len() { choice } else { 0 }
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.pick(&vec![1; n])
    }

    /// Every decision so far, without the tame ones at the end.
    pub(super) fn into_made(mut self) -> Vec<u32> {
        while self.made.last() == Some(&0) {
            self.made.pop();
        }
        self.made
    }
}

impl Random {
    fn pick(&mut self, weights: &[u32]) -> u32 {
        self.left -= 1;
        let total: u32 = weights.iter().sum();
        let mut left = self.random.u32(..total.max(1));
        let place = weights.iter().position(|weight| {
            let hit = left < *weight;
            left = left.saturating_sub(*weight);
            hit
        });
        u32::try_from(place.unwrap_or(0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_decides_alike_and_is_tame_afterwards() {
        let mut random = Chooser::random(fastrand::Rng::with_seed(7));
        let first: Vec<usize> = (0..9).map(|_| random.pick(&[3, 1, 5])).collect();
        let mut replay = Chooser::replay(random.into_made());
        let again: Vec<usize> = (0..9).map(|_| replay.pick(&[3, 1, 5])).collect();
        assert_eq!(first, again);
        assert!(first.iter().any(|choice| *choice > 0));
        assert_eq!((replay.is_spent(), replay.pick(&[1, 9])), (true, 0));
    }

    #[test]
    fn a_possibility_that_is_gone_becomes_the_tame_one() {
        assert_eq!(Chooser::replay(vec![4]).pick(&[1, 1]), 0);
    }

    #[test]
    fn what_weighs_nothing_is_never_chosen() {
        let mut random = Chooser::random(fastrand::Rng::with_seed(1));
        assert!((0..10).all(|_| random.pick(&[1, 0, 1]) != 1));
    }
}
