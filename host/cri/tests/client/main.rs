//! The client against a scripted server on a real socket.

mod calls;
mod connection;
mod server;
mod streams;

use std::path::Path;
use std::sync::Arc;

use witlet_core::Timestamp;
use witlet_cri::{CriClient, CriOptions, connect};
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

fn client_at(path: &Path) -> CriClient {
    let options = CriOptions::at(path.to_str().expect("UTF-8")).expect("a socket path");
    CriClient::new(options, Arc::new(FixedClock)).expect("inside a runtime")
}
