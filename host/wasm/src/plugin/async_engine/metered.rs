//! A guest's work: the epoch moves only while it computes, and the time that it computes is counted and bounded.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{EpochTicker, Usage, thread_cpu};

/// It computed for longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooBusy;

/// Work that is polled under the ticker and gives up once it has used up its processor time.
pub(super) struct Metered<'a, F> {
    work: Pin<Box<F>>,
    ticker: &'a EpochTicker,
    usage: Arc<Usage>,
    limit: Duration,
    /// Since when it waits for its turn, if it gave way and would go on at once.
    gave_way: Option<Instant>,
}

impl<'a, F: Future> Metered<'a, F> {
    pub(super) fn new(work: F, ticker: &'a EpochTicker, usage: Arc<Usage>, limit: Duration) -> Self {
        Self { work: Box::pin(work), ticker, usage, limit, gave_way: None }
    }
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = Result<F::Output, TooBusy>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _ticking = this.ticker.ticking();
        let began = Instant::now();
        let before = thread_cpu();
        let polled = this.work.as_mut().poll(context);
        let spent = this.usage.add_cpu(thread_cpu().saturating_sub(before));
        let ended = Instant::now();
        this.usage.add_runnable(ended.saturating_duration_since(this.gave_way.unwrap_or(began)));
        this.gave_way = this.usage.take_yielded().then_some(ended);
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if spent > this.limit => Poll::Ready(Err(TooBusy)),
            Poll::Pending => Poll::Pending,
        }
    }
}
