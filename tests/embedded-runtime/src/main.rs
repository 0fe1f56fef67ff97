//! The embedded runtime from outside: a process of its own (`src/bin`), driven over its socket, with real components.

#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::print_stderr, reason = "a test program ends loudly")]
#![allow(clippy::disallowed_methods, reason = "tests measure real processes with real time")]

mod client;
mod containers;
mod contract;
mod events;
mod exec;
mod http;
mod images;
mod mounts;
mod network;
mod process;
mod stats;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use client::Runtime;

fn main() -> ExitCode {
    let mut trials = Vec::new();
    trials.extend(containers::trials());
    trials.extend(contract::trials());
    trials.extend(events::trials());
    trials.extend(exec::trials());
    trials.extend(http::trials());
    trials.extend(images::trials());
    trials.extend(mounts::trials());
    trials.extend(network::trials());
    trials.extend(process::trials());
    trials.extend(stats::trials());
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    client::end_shared();
    conclusion.exit_code()
}

/// A test on the runtime that the tests share.
fn on_shared<T: Future<Output = ()>>(name: &str, test: impl FnOnce(Runtime) -> T + Send + 'static) -> Trial {
    Trial::test(name, move || {
        let threads = tokio::runtime::Runtime::new()?;
        threads.block_on(async { test(client::shared().await).await });
        Ok(())
    })
}

/// A test that starts runtimes of its own.
fn alone<T: Future<Output = ()>>(name: &str, test: impl FnOnce() -> T + Send + 'static) -> Trial {
    Trial::test(name, move || {
        let threads = tokio::runtime::Runtime::new()?;
        threads.block_on(test());
        Ok(())
    })
}
