//! Who waits for events of a store, and how they are woken.
//!
//! Invariants:
//! - A wake-up says "look again" and nothing else: each subscriber has a channel of one place, and one that is full
//!   already says so. Waking never waits, whatever the subscriber does.
//! - Closed is for good, and is set before the last wake-up: who sees it and then finds nothing has had all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam::channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use crate::log::Notifier;

/// The subscribers of a store.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    waiting: Mutex<Vec<(u64, Sender<()>)>>,
    /// Numbers given out.
    numbers: AtomicU64,
    closed: AtomicBool,
}

impl Subscribers {
    /// Adds a subscriber: from here on it is woken after whatever becomes synced.
    pub(super) fn join(self: &Arc<Self>) -> Seat {
        let (sender, woken) = bounded(1);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().push((number, sender));
        Seat { subscribers: Arc::clone(self), number, woken }
    }

    /// Returns what the log's writer tells of syncs.
    pub(super) fn notifier(self: &Arc<Self>) -> Notifier {
        let subscribers = Arc::clone(self);
        Notifier::new(move || subscribers.wake())
    }

    fn wake(&self) {
        // The lock orders this against whoever joins: either it is woken here, or it joined later and finds what was
        // published before.
        for (_, sender) in &*self.waiting.lock() {
            // Full: a wake-up that was not taken yet stands for this one too.
            let _ = sender.try_send(());
        }
    }

    /// Ends all subscriptions, once they have had what is synced.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.wake();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.waiting.lock().len()
    }
}

/// One subscriber's place; dropping it gives it up.
#[derive(Debug)]
pub(super) struct Seat {
    subscribers: Arc<Subscribers>,
    number: u64,
    /// Something changed since it was last read.
    pub(super) woken: Receiver<()>,
}

impl Seat {
    /// Reports whether the store was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.subscribers.closed.load(Ordering::SeqCst)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.subscribers.waiting.lock().retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_never_wait_and_add_up_to_one() {
        let subscribers = Arc::new(Subscribers::default());
        let notifier = subscribers.notifier();
        notifier.notify();
        let (one, two) = (subscribers.join(), subscribers.join());
        assert!(one.woken.is_empty());
        for _ in 0..1000 {
            notifier.notify();
        }
        assert_eq!((one.woken.len(), two.woken.len()), (1, 1));
        drop(one);
        assert_eq!(subscribers.len(), 1);
        two.woken.recv().unwrap();
        subscribers.close();
        assert!(two.is_closed() && two.woken.try_recv().is_ok());
        drop(two);
        assert_eq!(subscribers.len(), 0);
    }
}
