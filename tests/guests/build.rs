//! Compiles the guest programs of the conformance tests to components.

use std::process::ExitCode;

fn main() -> ExitCode {
    let hostile = ["witlet-hostile-guest", "witlet-loop-at-start-guest"];
    let examples = ["no-latest-tag", "not-before", "witlet-example-workloads"];
    witlet_build::Guests::new(&[&hostile[..], &examples[..]].concat()).embed()
}
