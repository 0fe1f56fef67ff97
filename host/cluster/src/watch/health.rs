//! Whether what is watched can be read, and reports while it can't.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use witlet_core::reflector::outage::Outage;

use super::change::{Change, Unread, WatchError};

/// The listener of a watch, and how the watch is. Both the watch and the reports reach it.
pub(super) struct Health<F> {
    on: Mutex<F>,
    state: Mutex<(Outage, String)>,
    changed: Notify,
    began: Instant,
}

impl<F> Health<F> {
    pub(super) fn new(on: F) -> Self {
        Self {
            on: Mutex::new(on),
            state: Mutex::new((Outage::begin(Duration::ZERO), String::new())),
            changed: Notify::new(),
            began: Instant::now(),
        }
    }

    /// Since the watch began.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, (Outage, String)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a change on.
    pub(super) fn tell<K>(&self, change: Change<K>)
    where
        F: FnMut(Change<K>),
    {
        match &change {
            Change::Disconnected(error) => self.failed(error),
            Change::Replaced { .. } | Change::Connected => {
                self.state().0.ended();
            }
            Change::Put(_) | Change::Deleted(_) | Change::Malformed(_) | Change::Unread(_) => {}
        }
        (self.on.lock().unwrap_or_else(PoisonError::into_inner))(change);
    }

    /// Notes an error, also one that another request may make good.
    pub(super) fn failed(&self, error: &WatchError) {
        let mut state = self.state();
        state.0.failed(self.elapsed());
        state.1 = error.to_string();
        drop(state);
        self.changed.notify_one();
    }

    /// Reports while nothing can be read, forever.
    pub(super) async fn report<K>(&self)
    where
        F: FnMut(Change<K>),
    {
        loop {
            let next = self.state().0.next_report();
            let due = async {
                match next {
                    Some(next) => sleep_until(self.began + next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.changed.notified() => continue,
            }
            let (lasted, error) = {
                let mut state = self.state();
                (state.0.report(self.elapsed()), state.1.clone())
            };
            if let Some(lasted) = lasted {
                self.tell(Change::Unread(Unread { lasted, error }));
            }
        }
    }
}
