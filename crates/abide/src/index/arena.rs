//! Values at 32-bit places: half the size of pointers, where there are millions of them.

use std::mem::size_of;

/// Leads nowhere.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Values at places that stay the same until they are removed; then a place is given again.
#[derive(Debug)]
pub(super) struct Arena<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arena<T> {
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.items[at as usize] = item;
            return at;
        }
        let at = self.items.len();
        // Two hundred gigabytes come first.
        assert!(at < NOWHERE as usize, "an index holds fewer than 2^32 entries");
        self.items.push(item);
        at as u32
    }

    /// Gives a place back; `emptied` takes it over, so that nothing is kept that is not needed.
    pub(super) fn remove(&mut self, at: u32, emptied: T) -> T {
        self.free.push(at);
        std::mem::replace(&mut self.items[at as usize], emptied)
    }

    pub(super) fn at(&self, at: u32) -> &T {
        &self.items[at as usize]
    }

    pub(super) fn at_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }

    pub(super) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}
