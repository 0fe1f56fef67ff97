//! A job: prints its progress, then leaves with the code that it was given.
//!
//! Arguments (or environment): exit code (`EXIT_CODE`, default 0), steps (`STEPS`, default 3), milliseconds per step
//! (`STEP_MILLISECONDS`, default 200).

use std::process::ExitCode;
use std::time::Duration;

use witlet_example_workloads::{exit_with, number};

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
#[allow(
    clippy::disallowed_methods,
    reason = "a workload has one thread, and nothing else to do while it waits"
)]
fn main() -> ExitCode {
    let given = number(1, "EXIT_CODE", 0_u8)
        .and_then(|code| Ok((code, number(2, "STEPS", 3_u32)?, number(3, "STEP_MILLISECONDS", 200_u64)?)));
    let (code, steps, pause) = match given {
        Ok(given) => given,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    for step in 1..=steps {
        println!("step {step} of {steps}");
        std::thread::sleep(Duration::from_millis(pause));
    }
    println!("done: leaving with {code}");
    exit_with(code)
}
