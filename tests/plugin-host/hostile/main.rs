//! The hostile corpus against the plugin host, with honest plugins of every role next to it.
//!
//! A process of its own, because what it takes is measured: descriptors, threads and memory must come back. A third of the corpus
//! is played unless `HOSTILE_CORPUS=all`; `HOSTILE_CORPUS=<name>` plays the attacks whose names begin so.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "the figures are part of what this shows")]

mod entry;
mod neighbours;
mod play;
mod servers;
mod stage;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use witlet_test_guests::corpus::{Attack, attacks};
use witlet_wasm::compile::CompilerConfig;

/// Attacks that are played at the same time. Those that compute take turns on few threads.
const AT_ONCE: usize = 20;
/// How long a thread for files, names and calls waits for more work. Regular work keeps threads awake: with the runtime's own ten
/// seconds, those of a busy minute would look like leaked ones.
const IDLE_THREAD: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(ended) = with_frugal_heap(&words) {
        return ended;
    }
    let trial = Trial::test("every_attack_is_bounded_named_and_quarantined", || {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        threads.worker_threads(2).thread_keep_alive(IDLE_THREAD).enable_all();
        threads.build()?.block_on(run())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

/// Runs this program again with an allocator that gives back what is freed, as the daemon's does; what stays then is in use. None
/// if this is that run.
fn with_frugal_heap(words: &[OsString]) -> Option<ExitCode> {
    const SETTINGS: [(&str, &str); 3] = [
        ("MALLOC_ARENA_MAX", "1"),
        ("MALLOC_MMAP_THRESHOLD_", "131072"),
        ("MALLOC_TRIM_THRESHOLD_", "131072"),
    ];
    if SETTINGS.iter().all(|(name, _)| std::env::var_os(name).is_some()) {
        return None;
    }
    let ended = Command::new("/proc/self/exe").args(words).envs(SETTINGS).status();
    let succeeded = ended.is_ok_and(|ended| ended.success());
    Some(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compiles in a child, as the daemon does; the child is this package's own program.
fn compiler(cache: impl Into<PathBuf>) -> CompilerConfig {
    CompilerConfig { program: env!("CARGO_BIN_EXE_compile-component").into(), ..CompilerConfig::new(cache) }
}

async fn run() -> Result<(), Failed> {
    let chosen = chosen();
    let mut stage = stage::Stage::start().await;
    stage.settle().await;
    let mut problems = Vec::new();
    for batch in chosen.chunks(AT_ONCE) {
        problems.extend(stage.play(batch).await);
    }
    problems.extend(stage.end(&chosen).await);
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failed::from(format!("{} of {} attacks:\n{}", problems.len(), chosen.len(), problems.join("\n"))))
}

fn chosen() -> Vec<&'static Attack> {
    match std::env::var("HOSTILE_CORPUS").as_deref() {
        Ok("all") => attacks().collect(),
        Ok(name) => attacks().filter(|attack| attack.name.starts_with(name)).collect(),
        Err(_) => attacks().step_by(3).collect(),
    }
}
