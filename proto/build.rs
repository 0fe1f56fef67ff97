//! Turns the definitions under `cri/`, `otlp/` and `prometheus/` into Rust, without a system protoc.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=cri");
    println!("cargo::rerun-if-changed=otlp");
    println!("cargo::rerun-if-changed=prometheus");
    let files = ["cri/v1/services.proto", "otlp/v1/trace.proto", "prometheus/metrics.proto"];
    let definitions = protox::compile(files, ["."])?;
    tonic_prost_build::configure()
        .btree_map(".") // ordered, so that equal requests are equal bytes
        .skip_debug([".runtime.v1.AuthConfig"]) // secrets: see `redact.rs`
        .compile_fds(definitions)?;
    Ok(())
}
