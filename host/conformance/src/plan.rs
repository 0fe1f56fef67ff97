//! What is examined, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use witlet_wasm::plugin::config::Warm;
use witlet_wasm::record::RecordedCall;
use witlet_wasm::role::Role;

use crate::cases::model::CaseFile;

/// The kit's version, which is the program's: reports carry it.
pub const KIT_VERSION: &str = env!("CARGO_PKG_VERSION");
/// How many generated inputs each property is tried with, unless a plan says otherwise.
pub const PROPERTY_CASES_DEFAULT: u32 = 64;
/// What generated inputs are made from, unless a plan says otherwise.
pub const SEED_DEFAULT: u64 = 1;

/// A component to examine.
#[derive(Clone, Debug)]
pub struct Subject {
    /// For reports: a file's name.
    pub name: String,
    pub wasm: Arc<[u8]>,
}

/// How a component is examined.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What its author says that it must answer.
    pub cases: Vec<CaseFile>,
    /// `config:` for everything but the cases, and for cases whose file says none. None: that of the role's first case file,
    /// or null.
    pub config: Option<Value>,
    /// `limits:` as in a PluginConfiguration, in place of the case files'. Null: theirs, or the role's defaults.
    pub limits: Value,
    /// `grants:` as in a PluginConfiguration, for everything but the cases, and for cases whose file says none. Null: those of
    /// the role's first case file.
    pub grants: Value,
    /// Values of secrets, in addition to those of case files.
    pub secrets: BTreeMap<String, Vec<u8>>,
    /// How instances are kept where used instances are tried.
    pub warm: Warm,
    /// Recorded calls to ask again.
    pub records: Vec<RecordedCall>,
    /// What generated inputs are made from.
    pub seed: u64,
    pub layers: BTreeSet<Layer>,
    /// The roles that are examined, of those that the component has. None: all of them.
    pub roles: Option<BTreeSet<Role>>,
    /// How many generated inputs each property is tried with.
    pub property_cases: u32,
}

impl Default for Plan {
    /// Every layer, with nothing but the component known.
    fn default() -> Self {
        Self {
            cases: Vec::new(),
            config: None,
            limits: Value::Null,
            grants: Value::Null,
            secrets: BTreeMap::new(),
            warm: WARM_DEFAULT,
            records: Vec::new(),
            seed: SEED_DEFAULT,
            layers: Layer::ALL.into_iter().collect(),
            roles: None,
            property_cases: PROPERTY_CASES_DEFAULT,
        }
    }
}

/// One instance that isn't given up in a test's time.
const WARM_DEFAULT: Warm =
    Warm { max: 1, uses: 1_000_000, idle: witlet_wasm::plugin::config::WARM_IDLE_DEFAULT };

/// What is examined, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Role, version, imports, size, static needs, grants, `validate`.
    Load,
    /// What the author's cases say, and what every plugin of the role must answer to.
    Vectors,
    /// Generated inputs: well-formed answers, and rules that hold between answers.
    Properties,
    /// Inputs and servers that mean harm.
    Hostile,
    /// The same question gets the same answer.
    Determinism,
    Budget,
    /// What happens when a grant is withheld.
    Grants,
    /// Recorded calls once more.
    Replay,
}

impl Layer {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::Load,
        Self::Vectors,
        Self::Properties,
        Self::Hostile,
        Self::Determinism,
        Self::Budget,
        Self::Grants,
        Self::Replay,
    ];

    /// Returns the name as on the command line, in reports and before the slash of a check's id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Vectors => "vectors",
            Self::Properties => "properties",
            Self::Hostile => "hostile",
            Self::Determinism => "determinism",
            Self::Budget => "budget",
            Self::Grants => "grants",
            Self::Replay => "replay",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no such layer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{word:?} is no layer: expected load, vectors, properties, hostile, determinism, budget, grants or replay"
)]
pub struct NoLayer {
    word: String,
}

impl FromStr for Layer {
    type Err = NoLayer;

    fn from_str(word: &str) -> Result<Self, NoLayer> {
        let found = Self::ALL.into_iter().find(|layer| layer.as_str() == word);
        found.ok_or_else(|| NoLayer { word: word.to_owned() })
    }
}
