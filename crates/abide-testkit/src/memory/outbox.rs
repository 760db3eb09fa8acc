//! What the listener is told: in the order of the transactions, whichever threads they ran on.
//!
//! An engine takes an arrival that comes after a later one for something it has seen already.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use abide::store::{Hint, Listener};
use parking_lot::{Condvar, Mutex, MutexGuard};

#[derive(Default)]
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    told: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Arc<dyn Listener>, Hint)>,
    /// How many hints were ever put here, and how many of them were told.
    put: u64,
    told: u64,
    teller: Option<ThreadId>,
}

/// Everything up to here is to be told before a verb is answered.
#[derive(Clone, Copy)]
pub(super) struct Ticket(u64);

impl Outbox {
    /// Puts the hints of a transaction here. Called while the store is locked, which is what makes
    /// the order.
    pub(super) fn put(&self, listener: Option<&Arc<dyn Listener>>, hints: Vec<Hint>) -> Ticket {
        let (Some(listener), false) = (listener, hints.is_empty()) else { return Ticket(0) };
        let mut queue = self.queue.lock();
        for hint in hints {
            queue.waiting.push_back((Arc::clone(listener), hint));
            queue.put += 1;
        }
        Ticket(queue.put)
    }

    /// Returns once everything up to the ticket was told. Called while the store is free, because a
    /// listener may ask it at once; then it is on the thread that tells, and does not wait.
    pub(super) fn tell(&self, Ticket(mine): Ticket) {
        let mut queue = self.queue.lock();
        let me = thread::current().id();
        while queue.told < mine && queue.teller != Some(me) {
            if queue.teller.is_some() {
                self.told.wait(&mut queue);
                continue;
            }
            if let Some((listener, hint)) = queue.waiting.pop_front() {
                queue.teller = Some(me);
                MutexGuard::unlocked(&mut queue, || listener.hint(hint));
                queue.teller = None;
                queue.told += 1;
                self.told.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use abide::InstanceKey;

    use super::*;

    /// Remembers the numbers it hears.
    #[derive(Default)]
    struct Heard(Mutex<Vec<i64>>);

    impl Listener for Heard {
        fn hint(&self, hint: Hint) {
            let Hint::Runnable(InstanceKey(number)) = hint else { return };
            self.0.lock().push(number);
        }
    }

    #[test]
    fn hints_come_in_the_order_of_transactions_and_before_their_answer_whatever_the_threads() {
        const EACH: i64 = 2_000;
        const THREADS: i64 = 4;
        let (store, outbox) = (Mutex::new(0), Outbox::default());
        let heard = Arc::new(Heard::default());
        let listener: Arc<dyn Listener> = heard.clone();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let mut number = store.lock();
                        *number += 1;
                        let (mine, hints) = (*number, vec![Hint::Runnable(InstanceKey(*number))]);
                        let ticket = outbox.put(Some(&listener), hints);
                        drop(number);
                        outbox.tell(ticket);
                        assert!(heard.0.lock().last().is_some_and(|last| *last >= mine));
                    }
                });
            }
        });
        assert_eq!(*heard.0.lock(), (1..=EACH * THREADS).collect::<Vec<_>>());
    }
}
