//! What can go wrong while guests are built.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::GUEST_TARGET;

/// Why components could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo sets it for every build script.
    #[error("the variable {name} isn't set: this works in a build script only")]
    NoVariable {
        /// Its name.
        name: &'static str,
    },
    /// rustc knows the target, but its standard library isn't there.
    #[error("the Rust target {GUEST_TARGET} isn't installed: run `rustup target add {GUEST_TARGET}`")]
    TargetMissing,
    /// rustc or cargo could not be started.
    #[error("start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// rustc could not say where its targets are.
    #[error("{program} ended with {status}")]
    Compiler {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// The guests don't compile; cargo has said why on stderr.
    #[error("compile {} to {GUEST_TARGET}: cargo ended with {status}, its messages stand above", packages.join(", "))]
    Guests {
        /// What was to be compiled.
        packages: Vec<String>,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// A line of cargo's that isn't as documented.
    #[error("understand cargo's message {line:?}")]
    Message {
        /// Its beginning.
        line: String,
        /// What is wrong with it.
        #[source]
        cause: serde_json::Error,
    },
    /// Two targets of the same name would overwrite each other.
    #[error("two components are called {name:?}")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// The package compiled, but to no component.
    #[error("the package {package} makes no component: it needs `crate-type = [\"cdylib\"]` or a binary")]
    NoComponent {
        /// The package.
        package: String,
    },
    /// What a component's manifest says can't be put into it.
    #[error("{} is no JSON", path.display())]
    Manifest {
        /// Its file.
        path: PathBuf,
        /// Where it isn't.
        #[source]
        cause: serde_json::Error,
    },
    /// A file of the build could not be read.
    #[error("read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// A file of the build could not be written.
    #[error("write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
}
