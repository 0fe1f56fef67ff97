//! The programs of this build, and where the code of components lies that all suites share.
//!
//! A test program finds others of the same build next to itself: `<target>/<profile>/deps/<test>`. Cargo builds `witlet` for
//! every `cargo test` that takes in the package `witlet`, such as `make test`; a test that is run alone says when it has to be built.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::shell::{HarnessError, io};

/// Names a `witlet` to be tested in place of this build's.
pub const PROGRAM_VARIABLE: &str = "WITLET_PROGRAM";

/// What `witlet` and its embedded runtime take the folder of compiled code from.
pub const CACHE_VARIABLE: &str = "WITLET_COMPONENT_CACHE_DIR";

/// `witlet` of this build.
///
/// # Errors
/// When there is none, or when one of its sources is younger: a test must not pass or fail for an older program.
pub fn witlet() -> Result<PathBuf, HarnessError> {
    if let Some(program) = std::env::var_os(PROGRAM_VARIABLE) {
        return Ok(PathBuf::from(program));
    }
    let program = profile_folder()?.join("witlet");
    let hint = "run `cargo build -p witlet`, or the whole of `make test`";
    let Ok(built) = modified(&program) else {
        return Err(HarnessError::Answer(format!("{} isn't built: {hint}", program.display())));
    };
    match newer_source(&program.with_extension("d"), built) {
        None => Ok(program),
        Some(source) => Err(HarnessError::Answer(format!(
            "{} is older than {}: {hint}",
            program.display(),
            source.display()
        ))),
    }
}

/// The folder of compiled components of this target folder, which every suite and every daemon of a test shares, so that
/// each component is compiled once. Keys are the daemon's: digest, engine and compiler.
///
/// # Errors
/// When this program doesn't lie in a target folder.
pub fn component_cache() -> Result<PathBuf, HarnessError> {
    let profile = profile_folder()?;
    Ok(profile.parent().unwrap_or(&profile).join("tmp/components"))
}

/// `<target>/<profile>`.
fn profile_folder() -> Result<PathBuf, HarnessError> {
    let program = std::env::current_exe().map_err(io("find the running program"))?;
    let folder = program.parent().filter(|folder| folder.ends_with("deps")).and_then(Path::parent);
    let outside = || HarnessError::Answer(format!("{} isn't a test of a target folder", program.display()));
    folder.map(Path::to_owned).ok_or_else(outside)
}

fn modified(path: &Path) -> std::io::Result<SystemTime> {
    std::fs::metadata(path)?.modified()
}

/// A source that cargo lists in the dep-info file and that is younger than the program.
fn newer_source(dep_info: &Path, built: SystemTime) -> Option<PathBuf> {
    let text = std::fs::read_to_string(dep_info).ok()?;
    let (_, sources) = text.lines().next()?.split_once(": ")?;
    let mut sources = sources.split(' ').map(PathBuf::from);
    sources.find(|source| modified(source).is_ok_and(|changed| changed > built))
}
