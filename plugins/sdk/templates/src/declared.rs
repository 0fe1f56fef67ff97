//! What projects of each language are made of: the track of their contracts, and the SDKs in them. The build script reads it, too.

/// A track of the contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contract {
    /// Its versions are 0.1.x.
    V0_1,
    /// Its versions are 0.2.x.
    V0_2,
}

impl Contract {
    /// All of them, the oldest first.
    pub const ALL: [Self; 2] = [Self::V0_1, Self::V0_2];

    /// Its name in sentences and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
        }
    }

    /// The version that projects get.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1.0",
            Self::V0_2 => "0.2.0",
        }
    }

    /// How the names of its packages' folders in `wit` end.
    pub const fn folder_suffix(self) -> &'static str {
        match self {
            Self::V0_1 => "",
            Self::V0_2 => "-0.2.0",
        }
    }

    /// The track of this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contract| contract.as_str() == name)
    }
}

/// A folder whose files are copied into projects.
pub(crate) struct Sdk {
    /// Below `plugins/sdk`.
    pub(crate) from: &'static str,
    /// Below the project's folder.
    pub(crate) to: &'static str,
    /// The names of the roles whose projects have it; none for all of them.
    pub(crate) roles: &'static [&'static str],
}

impl Sdk {
    const fn new(from: &'static str, to: &'static str) -> Self {
        Self::of(from, to, &[])
    }

    const fn of(from: &'static str, to: &'static str, roles: &'static [&'static str]) -> Self {
        Self { from, to, roles }
    }
}

/// What projects of a language get.
pub(crate) struct Declared {
    pub(crate) contract: Contract,
    pub(crate) sdks: &'static [Sdk],
}

pub(crate) const RUST: Declared = Declared {
    contract: Contract::V0_2,
    sdks: &[Sdk::new("guest-0.2", "sdk"), Sdk::new("base", "sdk/base")],
};
pub(crate) const C: Declared = Declared { contract: Contract::V0_2, sdks: &[Sdk::new("c-0.2", "sdk")] };
pub(crate) const PYTHON: Declared =
    Declared { contract: Contract::V0_2, sdks: &[Sdk::new("python-0.2", "sdk"), Sdk::new("python", "sdk")] };
// The engine finds only modules next to the plugin's and below.
pub(crate) const JAVASCRIPT: Declared = Declared {
    contract: Contract::V0_2,
    sdks: &[
        Sdk::of("javascript-0.2", "src/sdk", &["admission"]),
        Sdk::of("javascript-probe-0.2", "src/sdk", &["probe"]),
        Sdk::of("javascript-source-0.2", "src/sdk", &["pod-source"]),
    ],
};
// The module of contract 0.2 needs what that of 0.1 has of the ABI.
pub(crate) const GO: Declared =
    Declared { contract: Contract::V0_2, sdks: &[Sdk::new("go", "sdk"), Sdk::new("go-0.2", "sdk-0.2")] };
pub(crate) const CPP: Declared = Declared { contract: Contract::V0_2, sdks: &[Sdk::new("cpp-0.2", "sdk")] };

/// Those of all languages.
#[allow(dead_code, reason = "the build script's")]
pub(crate) const ALL: [&Declared; 6] = [&RUST, &C, &PYTHON, &JAVASCRIPT, &GO, &CPP];
