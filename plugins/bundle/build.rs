//! Compiles the shipped plugins to components.

use std::process::ExitCode;

fn main() -> ExitCode {
    witlet_build::Guests::new(&[
        "witlet-plugin-host-ports",
        "witlet-plugin-node-affinity",
        "witlet-plugin-node-resources",
    ])
    .embed()
}
