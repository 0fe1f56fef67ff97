//! A program that fails: prints a line and, after a moment, ends with code 1, or panics if its argument says `panic`.
//!
//! `CRASH_MILLISECONDS` (default 500) is how long the moment is.

use std::process::ExitCode;
use std::time::Duration;

use witlet_example_workloads::number;

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
#[allow(
    clippy::disallowed_methods,
    reason = "a workload has one thread, and nothing else to do while it waits"
)]
#[allow(clippy::panic, reason = "crashing is what this program is for")]
fn main() -> ExitCode {
    println!("all is well so far");
    std::thread::sleep(Duration::from_millis(
        number(usize::MAX, "CRASH_MILLISECONDS", 500_u64).unwrap_or(500),
    ));
    if std::env::args().nth(1).as_deref() == Some("panic") {
        panic!("crashing on purpose");
    }
    eprintln!("something went wrong on purpose");
    ExitCode::FAILURE
}
