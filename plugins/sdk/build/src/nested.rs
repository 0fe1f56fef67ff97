//! The nested cargo that compiles guests.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::BuildError;
use crate::{GUEST_PROFILE, GUEST_PROFILE_FAST, GUEST_TARGET, variable};

/// Variables of the outer build that would bend the inner one: flags and targets meant for the host, the wrapper by
/// which `cargo clippy` replaces the compiler, and where the outer build keeps its files.
const CLEARED: &[&str] = &[
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "CLIPPY_ARGS",
];

/// Fails with the way out where the guests' target isn't installed.
pub(crate) fn require_target() -> Result<(), BuildError> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let program = rustc.to_string_lossy().into_owned();
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", GUEST_TARGET])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|cause| BuildError::Start { program: program.clone(), cause })?;
    if !output.status.success() {
        return Err(BuildError::Compiler { program, status: output.status });
    }
    let folder = String::from_utf8_lossy(&output.stdout);
    if Path::new(folder.trim()).is_dir() { Ok(()) } else { Err(BuildError::TargetMissing) }
}

/// Compiles the packages and returns cargo's messages, one JSON object a line. Diagnostics go to stderr.
pub(crate) fn build(packages: &[String], examples: bool, folder: &Path) -> Result<String, BuildError> {
    let cargo = variable("CARGO")?;
    let mut command = Command::new(&cargo);
    // Cargo says `debug` for every profile that inherits from `dev`.
    let profile = if variable("PROFILE")? == "release" { GUEST_PROFILE } else { GUEST_PROFILE_FAST };
    command.args(["build", "--locked", "--target", GUEST_TARGET, "--profile", profile]);
    command.args(["--message-format", "json-render-diagnostics"]).arg("--target-dir").arg(folder);
    for package in packages {
        command.args(["--package", package]);
    }
    if examples {
        command.arg("--examples");
    }
    for name in CLEARED {
        command.env_remove(name);
    }
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|cause| BuildError::Start { program: cargo.to_string_lossy().into_owned(), cause })?;
    if !output.status.success() {
        return Err(BuildError::Guests { packages: packages.to_vec(), status: output.status });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
