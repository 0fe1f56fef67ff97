//! Compiles the example workloads and the programs of the embedded runtime's tests to components.

fn main() -> std::process::ExitCode {
    witlet_build::Guests::new(&["witlet-example-workloads", "witlet-runtime-test-guests"]).embed()
}
