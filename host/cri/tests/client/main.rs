//! The client against a scripted server on a real socket.

mod calls;
mod connection;
mod server;
mod spans;
mod streams;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use witlet_core::Timestamp;
use witlet_cri::{CriClient, CriOptions, Deadlines};
use witlet_ports::{Clock, Runtime};

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// Waits for what has to happen.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_TIMEOUT, what).await.expect("it happens soon")
}

/// Options with deadlines that no call reaches, however busy the machine is.
fn options_at(path: &Path) -> CriOptions {
    let mut options = CriOptions::at(path.to_str().expect("UTF-8")).expect("a socket path");
    options.deadlines = Deadlines { health: WAIT_TIMEOUT, ..Deadlines::default() };
    options
}

fn runtime_at(path: &Path) -> Runtime {
    client_at(path).into_runtime()
}

fn client_at(path: &Path) -> CriClient {
    CriClient::new(options_at(path), Arc::new(FixedClock)).expect("inside a runtime")
}
