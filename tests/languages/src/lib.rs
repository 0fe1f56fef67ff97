//! Plugins in every language, for tests and benchmarks: which toolchains are here, which projects there are, and what comes
//! of building them.
//!
//! `make languages` installs the toolchains outside the repository. Where one is absent, [`Toolchain::find`] says why, and tests
//! report themselves as ignored; with `WITLET_REQUIRE_LANGUAGES=1` they fail instead. What was built is kept below
//! the target folder, by a hash of everything that it was made from, so that a second run builds nothing.
#![forbid(unsafe_code)]

mod bounded_run;
mod build;
pub mod measured;
#[cfg(test)]
mod policies;
mod project;
mod requirements;
mod toolchain;
pub mod tutorial;
#[cfg(test)]
mod watch;

pub use build::{BuildError, Built};
pub use project::{
    EXAMPLES, EXAMPLES_0_2, GO_RUNTIME, Guest, HTTPS_LANGUAGES, HTTPS_ROLES, LANGUAGES_0_2, Project,
    ProjectError, examples, repository,
};
pub use requirements::{REQUIRE_VARIABLE, is_required};
pub use toolchain::{Absent, TOOLS_VARIABLE, Toolchain};
