//! What is signed: an in-toto Statement (v1) about one component.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::envelope;
use super::key::SigningKey;

/// `_type` of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// `predicateType` of a conformance report.
pub const PREDICATE_TYPE: &str = "https://witlet.dev/conformance/v1alpha1";

/// The layers that each report must have been made in, as kit 0.1.0 has them. A later kit may have more.
pub const LAYERS: [&str; 8] =
    ["load", "vectors", "properties", "hostile", "determinism", "budget", "grants", "replay"];

/// How many checks of a layer came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Checks {
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// A role that was tried beyond loading it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Tested {
    /// As the configuration has it: `admission`, `probe` or `podSource`.
    pub role: String,
    /// The contract's version that served it.
    pub version: String,
}

/// What the kit found. Fields that a later kit adds are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conformance {
    /// Of the kit that checked.
    pub kit_version: String,
    /// The roles that were tried, each once.
    pub roles: Vec<Tested>,
    /// SHA-256 of the configuration that the component was given, as compact JSON, in hexadecimal.
    pub config_digest: String,
    /// Whether nothing was found.
    pub passed: bool,
    /// Numbers of checks by layer; a layer that wasn't asked for isn't there.
    pub checks: BTreeMap<String, Checks>,
    /// What the choices of random inputs came from, so that they can be made again.
    pub seed: u64,
    /// When the kit was done.
    pub time: Timestamp,
}

/// A report on one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    name: String,
    digest: String,
    conformance: Conformance,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatementDocument<P> {
    #[serde(rename = "_type")]
    pub(crate) statement_type: String,
    pub(crate) subject: Vec<SubjectDocument>,
    pub(crate) predicate_type: String,
    pub(crate) predicate: P,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct SubjectDocument {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) digest: BTreeMap<String, String>,
}

/// The algorithm that subjects are named by.
pub(crate) const SUBJECT_ALGORITHM: &str = "sha256";

impl Statement {
    /// About the component with this SHA-256, in hexadecimal. The name is for people.
    pub fn new(name: impl Into<String>, sha256: impl Into<String>, conformance: Conformance) -> Self {
        Self { name: name.into(), digest: sha256.into(), conformance }
    }

    /// The signed envelope as its file has it. The same statement and key give the same bytes.
    pub fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let document = StatementDocument {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![SubjectDocument {
                name: self.name.clone(),
                digest: BTreeMap::from([(SUBJECT_ALGORITHM.to_owned(), self.digest.clone())]),
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: &self.conformance,
        };
        let payload =
            serde_json::to_vec(&document).expect("texts, numbers and lists of them have a JSON form");
        envelope::sign(&payload, key)
    }
}
