//! The thread that moves an engine's epoch on while guests run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use wasmtime::Engine;

/// How many idle ticks pass before the thread parks. Calls that follow each other closely then don't pay for waking
/// it.
const LINGER_TICKS: u32 = 20;

/// The ticking thread couldn't be started.
#[derive(Debug, Error)]
#[error("failed to start the thread that ticks the engine's epochs")]
pub struct TickerError(#[from] std::io::Error);

/// Ticks an engine's epoch from a thread of its own, which parks while nothing runs. Ends when dropped.
#[derive(Debug)]
pub struct EpochTicker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    period: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    active: AtomicUsize,
    parked: AtomicBool,
    stopped: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Shared {
    fn notify(&self) {
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.notify_all();
    }
}

impl EpochTicker {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system makes no thread.
    pub fn start(engine: &Engine, period: Duration) -> Result<Self, TickerError> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("epochs".into()).spawn({
            let shared = shared.clone();
            let engine = engine.clone();
            move || run(&shared, &engine, period)
        })?;
        Ok(Self { shared, thread: Some(thread), period })
    }

    /// Keeps the epoch moving until the guard is dropped. Take it before instantiation and before each call.
    pub fn ticking(&self) -> Ticking {
        self.shared.active.fetch_add(1, Ordering::SeqCst);
        if self.shared.parked.load(Ordering::SeqCst) {
            self.shared.notify();
        }
        Ticking { shared: self.shared.clone() }
    }

    /// The epoch deadline that ends a call after `time`, to be given to `Store::set_epoch_deadline`.
    pub fn deadline(&self, time: Duration) -> u64 {
        super::epochs(time, self.period)
    }

    /// Time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.notify();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("Epoch thread panicked");
        }
    }
}

/// While it lives, the epoch moves.
#[derive(Debug)]
pub struct Ticking {
    shared: Arc<Shared>,
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.shared.active.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(shared: &Shared, engine: &Engine, period: Duration) {
    let mut idle_ticks = 0;
    let mut lock = shared.lock.lock().unwrap_or_else(PoisonError::into_inner);
    while !shared.stopped.load(Ordering::SeqCst) {
        if shared.active.load(Ordering::SeqCst) > 0 {
            idle_ticks = 0;
        } else {
            idle_ticks += 1;
        }
        if idle_ticks < LINGER_TICKS {
            let (next, timeout) =
                shared.wake.wait_timeout(lock, period).unwrap_or_else(PoisonError::into_inner);
            lock = next;
            if timeout.timed_out() {
                engine.increment_epoch();
            }
            continue;
        }
        shared.parked.store(true, Ordering::SeqCst);
        // A guard taken before `parked` was seen didn't notify: check once more. One taken after blocks on the lock
        // until this thread waits.
        if shared.active.load(Ordering::SeqCst) == 0 && !shared.stopped.load(Ordering::SeqCst) {
            lock = shared.wake.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        shared.parked.store(false, Ordering::SeqCst);
        idle_ticks = 0;
    }
}
