//! A program that doesn't listen: it takes no notice of being asked to stop, and has to be killed.

use std::time::Duration;

/// How often it says that it is still there.
const BEAT: Duration = Duration::from_secs(1);

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
#[allow(
    clippy::disallowed_methods,
    reason = "a workload has one thread, and nothing else to do while it waits"
)]
fn main() {
    for beat in 0_u64.. {
        println!("still here after {beat} s");
        std::thread::sleep(BEAT);
    }
}
