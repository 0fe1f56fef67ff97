//! The client against a scripted server on a real socket.

mod calls;
mod connection;
mod server;

use std::path::Path;
use std::sync::Arc;

use witlet_core::Timestamp;
use witlet_cri::connect;
use witlet_ports::{Clock, Runtime};

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn runtime_at(path: &Path) -> Runtime {
    connect(path.to_str().expect("UTF-8"), Arc::new(FixedClock)).expect("a socket path")
}
