//! Keys as 128 bits instead of their text.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Stands for a shape and a key text.
pub(super) type Fingerprint = [u64; 2];

/// Makes fingerprints with secret random keys.
///
/// Two different keys would be taken for one if their fingerprints were the same. Each half is a
/// keyed `SipHash`, a pseudo-random function: who does not know its key can't do better than
/// chance, which for a million keys is 1 in 10^26. The keys live as long as this index and never
/// leave the process; a stored key is always the text. Results do not depend on them.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    halves: [RandomState; 2],
}

impl Fingerprints {
    pub(super) fn of(&self, shape: u32, key: &str) -> Fingerprint {
        [0, 1].map(|half: usize| {
            let mut hasher = self.halves[half].build_hasher();
            // The keys of the halves may be related; what they read is not the same either.
            hasher.write_u64(u64::from(shape) << 1 | half as u64);
            hasher.write(key.as_bytes());
            hasher.finish()
        })
    }

    /// A plain hash, for tables that compare the text itself.
    pub(super) fn of_text(&self, text: &str) -> u64 {
        self.halves[0].hash_one(text)
    }
}
