//! The embedded runtime as a process for tests, and the compiler that it starts:
//! `embedded-runtime runtime ROOT_DIR IMAGE_ROOT COMPONENT_CACHE [HTTP_DEADLINE_SECONDS [SHUTDOWN_GRACE_SECONDS]]`.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::print_stderr, reason = "a test program ends loudly")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use witlet_runtime::RuntimeOptions;

/// How long a request may take unless the test says otherwise: it only catches what hangs.
const HTTP_DEADLINE: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if witlet_wasm::compile::is_compile_command(&arguments) {
        return witlet_wasm::compile::child_main(arguments.split_off(1));
    }
    runtime(arguments.get(1..).unwrap_or_default())
}

fn runtime(arguments: &[OsString]) -> ExitCode {
    let [root_dir, image_root, cache, more @ ..] = arguments else {
        panic!("runtime ROOT_DIR IMAGE_ROOT COMPONENT_CACHE [HTTP_DEADLINE_SECONDS [SHUTDOWN_GRACE_SECONDS]]")
    };
    let seconds = |seconds: &OsString| {
        Duration::from_secs(seconds.to_string_lossy().parse().expect("a number of seconds"))
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let defaults = RuntimeOptions::new(PathBuf::from(root_dir));
    let options = RuntimeOptions {
        image_root: PathBuf::from(image_root),
        component_cache: PathBuf::from(cache),
        http_deadline: more.first().map_or(HTTP_DEADLINE, seconds),
        shutdown_grace: more.get(1).map_or(defaults.shutdown_grace, seconds),
        new_session: true,
        ..defaults
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
