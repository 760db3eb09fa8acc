//! Who is found under which key.
//!
//! ```text
//!   fingerprint ─▶ group (residue a) ─▶ group (residue b) ─▶ …      one evaluation each
//!                    │                    │
//!                    ▼                    ▼
//!                  posting ─▶ posting   posting                    one per subscription
//! ```
//!
//! Lists run through the arenas themselves, in both directions, so that adding and removing take
//! the same time however many subscriptions share a key or a residue.

use hashbrown::HashTable;

use super::arena::{Arena, NOWHERE};
use super::fingerprint::Fingerprint;

/// The subscriptions with one key and one residue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) key: Fingerprint,
    pub(super) shape: u32,
    /// [`NOWHERE`]: nothing is left to be evaluated.
    pub(super) residue: u32,
    /// Others with this key.
    next: u32,
    previous: u32,
    first: u32,
}

/// One subscription in a group.
#[derive(Clone, Copy, Debug)]
struct Posting {
    subscription: i64,
    /// [`NOWHERE`]: the subscription never matches.
    group: u32,
    next: u32,
    previous: u32,
    /// The next of the same subscription, in a ring.
    sibling: u32,
}

/// A subscription as it is found in a group.
pub(super) struct Found {
    pub(super) subscription: i64,
    /// It has no other posting, so it can't be found twice.
    pub(super) alone: bool,
}

#[derive(Debug, Default)]
pub(super) struct Postings {
    groups: Arena<Group>,
    postings: Arena<Posting>,
    /// The first group of every key.
    by_key: HashTable<u32>,
    /// Every group, by key and residue.
    by_residue: HashTable<u32>,
    /// One posting of every subscription.
    by_subscription: HashTable<u32>,
}

const EMPTY_GROUP: Group = Group {
    key: [0; 2],
    shape: NOWHERE,
    residue: NOWHERE,
    next: NOWHERE,
    previous: NOWHERE,
    first: NOWHERE,
};
const EMPTY_POSTING: Posting =
    Posting { subscription: 0, group: NOWHERE, next: NOWHERE, previous: NOWHERE, sibling: NOWHERE };

/// Fingerprints are random already.
fn key_hash(key: Fingerprint) -> u64 {
    key[0]
}

fn residue_hash(key: Fingerprint, residue: u32) -> u64 {
    key[0] ^ spread(u64::from(residue) + 1)
}

/// Ids are numbers that a store counts up; nobody chooses them.
fn subscription_hash(subscription: i64) -> u64 {
    spread(subscription as u64)
}

fn spread(value: u64) -> u64 {
    let product = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

impl Postings {
    pub(super) fn len(&self) -> usize {
        self.by_subscription.len()
    }

    pub(super) fn contains(&self, subscription: i64) -> bool {
        self.first_of(subscription).is_some()
    }

    fn first_of(&self, subscription: i64) -> Option<u32> {
        let hash = subscription_hash(subscription);
        let is_it = |&at: &u32| self.postings.at(at).subscription == subscription;
        self.by_subscription.find(hash, is_it).copied()
    }

    /// The group of a key and residue, if there is one.
    pub(super) fn group(&self, key: Fingerprint, residue: u32) -> Option<u32> {
        let is_it = |&at: &u32| {
            let group = self.groups.at(at);
            group.key == key && group.residue == residue
        };
        self.by_residue.find(residue_hash(key, residue), is_it).copied()
    }

    /// Makes the group of a key and residue.
    pub(super) fn add_group(&mut self, key: Fingerprint, shape: u32, residue: u32) -> u32 {
        let at = self.groups.insert(Group { key, shape, residue, ..EMPTY_GROUP });
        let Self { groups, by_key, by_residue, .. } = self;
        match by_key.find(key_hash(key), |&head| groups.at(head).key == key).copied() {
            // Second in the list, so that the table need not change.
            Some(head) => {
                let second = groups.at(head).next;
                groups.at_mut(head).next = at;
                groups.at_mut(at).previous = head;
                groups.at_mut(at).next = second;
                if second != NOWHERE {
                    groups.at_mut(second).previous = at;
                }
            }
            None => {
                by_key.insert_unique(key_hash(key), at, |&at| key_hash(groups.at(at).key));
            }
        }
        by_residue.insert_unique(residue_hash(key, residue), at, |&at| {
            let group = groups.at(at);
            residue_hash(group.key, group.residue)
        });
        at
    }

    /// Files a subscription in a group; [`NOWHERE`] for one that never matches.
    pub(super) fn add(&mut self, subscription: i64, group: u32) {
        let at = self.postings.insert(Posting { subscription, group, ..EMPTY_POSTING });
        match self.first_of(subscription) {
            Some(other) => {
                let sibling = self.postings.at(other).sibling;
                self.postings.at_mut(other).sibling = at;
                self.postings.at_mut(at).sibling = sibling;
            }
            None => {
                self.postings.at_mut(at).sibling = at;
                let Self { postings, by_subscription, .. } = self;
                by_subscription.insert_unique(subscription_hash(subscription), at, |&at| {
                    subscription_hash(postings.at(at).subscription)
                });
            }
        }
        if group == NOWHERE {
            return;
        }
        let first = self.groups.at(group).first;
        self.postings.at_mut(at).next = first;
        if first != NOWHERE {
            self.postings.at_mut(first).previous = at;
        }
        self.groups.at_mut(group).first = at;
    }

    /// Forgets a subscription. Gives each group it was in, and whether it was the last there, in
    /// which case the group is gone too; `false` when the subscription is not known.
    pub(super) fn remove(&mut self, subscription: i64, mut left: impl FnMut(Group, bool)) -> bool {
        let hash = subscription_hash(subscription);
        let Self { postings, by_subscription, .. } = self;
        let is_it = |&at: &u32| postings.at(at).subscription == subscription;
        let Ok(known) = by_subscription.find_entry(hash, is_it) else { return false };
        let (start, _) = known.remove();
        let mut at = start;
        loop {
            let posting = self.postings.remove(at, EMPTY_POSTING);
            if posting.group != NOWHERE {
                let group = *self.groups.at(posting.group);
                left(group, self.unlink(posting));
            }
            at = posting.sibling;
            if at == start {
                return true;
            }
        }
    }

    /// Takes a posting out of its group; whether the group is gone with it.
    fn unlink(&mut self, posting: Posting) -> bool {
        if posting.next != NOWHERE {
            self.postings.at_mut(posting.next).previous = posting.previous;
        }
        if posting.previous != NOWHERE {
            self.postings.at_mut(posting.previous).next = posting.next;
            return false;
        }
        self.groups.at_mut(posting.group).first = posting.next;
        if posting.next != NOWHERE {
            return false;
        }
        self.remove_group(posting.group);
        true
    }

    fn remove_group(&mut self, at: u32) {
        let group = self.groups.remove(at, EMPTY_GROUP);
        let hash = residue_hash(group.key, group.residue);
        if let Ok(known) = self.by_residue.find_entry(hash, |&known| known == at) {
            known.remove();
        }
        if group.next != NOWHERE {
            self.groups.at_mut(group.next).previous = group.previous;
        }
        if group.previous != NOWHERE {
            self.groups.at_mut(group.previous).next = group.next;
            return;
        }
        // It was the first: the next one is from now on, if there is one.
        if let Ok(mut head) = self.by_key.find_entry(key_hash(group.key), |&known| known == at) {
            if group.next == NOWHERE {
                head.remove();
            } else {
                *head.get_mut() = group.next;
            }
        }
    }

    /// The groups with a key.
    pub(super) fn groups(&self, key: Fingerprint) -> impl Iterator<Item = &Group> {
        let is_it = |&head: &u32| self.groups.at(head).key == key;
        let head = self.by_key.find(key_hash(key), is_it).copied().unwrap_or(NOWHERE);
        let group = |at: u32| (at != NOWHERE).then(|| self.groups.at(at));
        std::iter::successors(group(head), move |last| group(last.next))
    }

    /// The subscriptions in a group.
    pub(super) fn members(&self, group: &Group) -> impl Iterator<Item = Found> {
        let posting = |at: u32| (at != NOWHERE).then(|| (at, self.postings.at(at)));
        std::iter::successors(posting(group.first), move |(_, last)| posting(last.next)).map(
            |(at, posting)| Found {
                subscription: posting.subscription,
                alone: posting.sibling == at,
            },
        )
    }

    pub(super) fn bytes(&self) -> usize {
        self.groups.bytes()
            + self.postings.bytes()
            + self.by_key.allocation_size()
            + self.by_residue.allocation_size()
            + self.by_subscription.allocation_size()
    }
}
