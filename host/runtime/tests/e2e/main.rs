//! The embedded runtime from outside: a process of its own, driven over its socket, with real components.
//!
//! This program is all three: the tests, the runtime (`runtime …`), and the child that compiles (`compile-component`).

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

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tokio_util::sync::CancellationToken;
use witlet_runtime::RuntimeOptions;

use client::Runtime;

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if witlet_wasm::compile::is_compile_command(&arguments) {
        return witlet_wasm::compile::child_main(arguments.split_off(1));
    }
    if arguments.first().is_some_and(|word| word == "runtime") {
        return runtime(&arguments[1..]);
    }
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

/// The program as the runtime: `runtime ROOT_DIR IMAGE_ROOT [HTTP_DEADLINE_SECONDS]`.
fn runtime(arguments: &[OsString]) -> ExitCode {
    let [root_dir, image_root, more @ ..] = arguments else { panic!("runtime ROOT_DIR IMAGE_ROOT") };
    let seconds = more.first().map(|seconds| seconds.to_string_lossy().parse().expect("seconds"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = RuntimeOptions {
        image_root: PathBuf::from(image_root),
        http_deadline: seconds.map_or(client::PATIENCE, Duration::from_secs),
        new_session: true,
        ..RuntimeOptions::new(PathBuf::from(root_dir))
    };
    let threads = tokio::runtime::Runtime::new().expect("threads");
    let served = threads.block_on(async {
        let stop = CancellationToken::new();
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).expect("a signal");
        let serving = witlet_runtime::serve(options, stop.clone());
        tokio::pin!(serving);
        tokio::select! {
            served = &mut serving => served,
            _ = terminate.recv() => {
                stop.cancel();
                serving.await
            }
        }
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
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
