//! The newest measurements, and the summaries that were written of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use witlet_core::stats::summary::{Measurements, Scope};

/// Measurements that requests share.
#[derive(Clone)]
pub(super) struct Newest {
    at: Instant,
    scope: Scope,
    pub(super) measured: Arc<Measurements>,
    summaries: Arc<Summaries>,
}

/// The summary as JSON, once it was asked for.
#[derive(Default)]
struct Summaries {
    all: OnceCell<Bytes>,
    cpu_and_memory: OnceCell<Bytes>,
}

impl Newest {
    /// What was measured just now.
    pub(super) fn new(scope: Scope, measured: Measurements) -> Self {
        Self { at: Instant::now(), scope, measured: Arc::new(measured), summaries: Arc::default() }
    }

    /// Whether these are younger than `age`, and have all that is asked for.
    pub(super) fn serves(&self, scope: Scope, age: Duration) -> bool {
        self.at.elapsed() < age && (self.scope == Scope::All || self.scope == scope)
    }

    /// The summary as JSON. It is written once, however many ask for it, on a thread that may take its time.
    pub(super) async fn summary(&self, scope: Scope) -> io::Result<Bytes> {
        let written = match scope {
            Scope::All => &self.summaries.all,
            Scope::CpuAndMemory => &self.summaries.cpu_and_memory,
        };
        written.get_or_try_init(|| write(self.measured.clone(), scope)).await.cloned()
    }
}

async fn write(measured: Arc<Measurements>, scope: Scope) -> io::Result<Bytes> {
    let written = tokio::task::spawn_blocking(move || serde_json::to_vec(&measured.summary(scope))).await;
    written.map_err(io::Error::other)?.map(Bytes::from).map_err(io::Error::other)
}
