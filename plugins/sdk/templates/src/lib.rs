//! Projects that authors of plugins begin with: one for each language and role, ready to build.
//!
//! The files are part of the program: what `files/<language>` has in `common` and in the role's own folder, the contracts of
//! the language's track, and its SDKs, both as `declared` has them. [`render`] makes a project of them without touching anything.
#![forbid(unsafe_code)]

mod declared;
mod name;
mod owner;
mod render;

use std::fmt;

use declared::Declared;

pub use declared::Contract;
pub use name::{NAME_LENGTH_MAX, Name, NameError};
pub use owner::{Owner, owner};
pub use render::{File, RenderError, render, template};

#[allow(clippy::large_include_file, reason = "they are files of a project")]
mod embedded {
    //! What the build script has read.

    use std::io::Read as _;
    use std::sync::LazyLock;

    use flate2::read::DeflateDecoder;

    /// Contents by their paths.
    pub(crate) type Files = Vec<(&'static str, Vec<u8>)>;

    /// Inflates files that the build script has deflated as one.
    fn unpack(lengths: &[(&'static str, usize)], deflated: &[u8]) -> Files {
        let mut whole = DeflateDecoder::new(deflated);
        let file = |(path, length): &(&'static str, usize)| {
            let mut contents = vec![0; *length];
            whole.read_exact(&mut contents).expect("the build script has deflated so many bytes");
            (*path, contents)
        };
        lengths.iter().map(file).collect()
    }

    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// The file of a project that has the path of the program which made it, as one word of a shell. It is for the machine where that was:
/// [`render`] doesn't make it, and git ignores it. `make test` falls back on that program.
pub const PROGRAM_FILE: &str = ".witlet-path";

/// SHA-256 of every published file of the contracts, one a line: `HEXADECIMAL  wit/…`.
pub const PUBLISHED_CONTRACTS: &str = include_str!("../../../../wit/frozen.txt");

/// A language with templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Rust, with the project's own SDK.
    Rust,
    /// C, with bindings by `wit-bindgen`.
    C,
    /// Python, with `componentize-py` and a module of the project's own.
    Python,
    /// TypeScript or plain JavaScript, with `jco`; the templates are in TypeScript.
    JavaScript,
    /// Go, with the project's own SDK.
    Go,
    /// C++, with bindings by `wit-bindgen` and the project's own SDK.
    Cpp,
}

impl Language {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [Self::Rust, Self::C, Self::Python, Self::JavaScript, Self::Go, Self::Cpp];

    /// Its name on the command line and of its folders.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C => "c",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Go => "go",
            Self::Cpp => "cpp",
        }
    }

    /// Its name in sentences: that of what the templates are written in.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C => "C",
            Self::Python => "Python",
            Self::JavaScript => "TypeScript",
            Self::Go => "Go",
            Self::Cpp => "C++",
        }
    }

    /// The track of the contracts that its projects are made for.
    pub const fn contract(self) -> Contract {
        self.declared().contract
    }

    /// What its projects get.
    const fn declared(self) -> &'static Declared {
        match self {
            Self::Rust => &declared::RUST,
            Self::C => &declared::C,
            Self::Python => &declared::PYTHON,
            Self::JavaScript => &declared::JAVASCRIPT,
            Self::Go => &declared::GO,
            Self::Cpp => &declared::CPP,
        }
    }

    /// Another name that it is known by, if there is one.
    pub const fn alias(self) -> Option<&'static str> {
        match self {
            Self::JavaScript => Some("typescript"),
            Self::Cpp => Some("c++"),
            Self::Rust | Self::C | Self::Python | Self::Go => None,
        }
    }

    /// The language of this name, or of this other name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        let is_named = |language: &Self| language.as_str() == name || language.alias() == Some(name);
        Self::ALL.into_iter().find(is_named)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// An admission handler.
    Admission,
    /// A probe type.
    Probe,
    /// A pod source.
    PodSource,
}

impl Role {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Admission, Self::Probe, Self::PodSource];

    /// Its name on the command line and of the templates' folders.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Probe => "probe",
            Self::PodSource => "pod-source",
        }
    }

    /// The role of this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// The world of `wit/` that a plugin of this role includes, without its version.
    const fn world(self) -> &'static str {
        match self {
            Self::Admission => "witlet:admission/admission-handler",
            Self::Probe => "witlet:probe/probe-type",
            Self::PodSource => "witlet:pod-source/pod-source",
        }
    }

    /// The same with the version that projects for this track get.
    pub fn world_of(self, contract: Contract) -> String {
        format!("{}@{}", self.world(), contract.version())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
