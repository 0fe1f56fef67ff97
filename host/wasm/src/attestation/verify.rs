//! Whether a report is one that a host may rely on.

use jiff::Timestamp;
use semver::Version;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::envelope::{self, ENVELOPE_BYTES_MAX, Envelope, EnvelopeFault, PAYLOAD_TYPE, SIGNATURES_MAX};
use super::key::PublicKey;
use super::statement::{
    Conformance, LAYERS, PREDICATE_TYPE, STATEMENT_TYPE, SUBJECT_ALGORITHM, StatementDocument,
    SubjectDocument,
};

/// How much of a foreign text is shown.
const TEXT_CHARS_MAX: usize = 128;
/// How many things of a list are shown.
const ITEMS_SHOWN_MAX: usize = 4;

/// What a report must say.
#[derive(Clone, Debug)]
pub struct Requirements<'a> {
    /// SHA-256 of the component that is to be loaded, in hexadecimal.
    pub digest: &'a str,
    /// The roles that it is to be used in, as reports name them.
    pub roles: &'a [&'a str],
    /// The oldest kit whose word counts, by the precedence of semver.org; none takes any.
    pub kit_version: Option<Version>,
    /// Whether a report of what is wrong counts, too.
    pub failed_too: bool,
}

/// A report that meets the requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// [`PublicKey::id`] of the signer.
    pub key_id: String,
    /// Place of that key among those that were given.
    pub key_index: usize,
    pub kit_version: String,
    /// Whether nothing was found. True unless reports of what is wrong count.
    pub passed: bool,
    /// SHA-256 of the configuration that the kit gave it, in hexadecimal.
    pub config_digest: String,
    /// When it was examined.
    pub time: Timestamp,
}

/// Why a report doesn't count. Each in one clause.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// More bytes than any report has.
    #[error("a report must have at most {ENVELOPE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("not a signed report: malformed at line {line}, column {column}")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Not Base64.
    #[error("damaged: payload and signatures must be Base64")]
    Base64,
    /// More signatures than are ever needed.
    #[error("a report must have at most {SIGNATURES_MAX} signatures, found {count}")]
    Signatures { count: usize },
    /// The envelope has something else in it.
    #[error("payloadType must be {PAYLOAD_TYPE}, found {found:?}")]
    PayloadType {
        /// What it says it is.
        found: String,
    },
    /// It has no signature.
    #[error("it has no signature")]
    Unsigned,
    /// None of the keys that count.
    #[error("signed with {}, which is not one of the accepted keys", keys(found))]
    UnknownKey {
        /// Ids of the keys, as the envelope has them.
        found: Vec<String>,
    },
    /// Names a key that counts, and isn't its.
    #[error(
        "invalid signature with key {}: the report was changed after it was signed, or was signed with another key",
        short(key)
    )]
    Signature { key: String },
    /// Signed, and not a statement.
    #[error("malformed statement at line {line}, column {column}")]
    Statement {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A statement of another form.
    #[error("_type must be {STATEMENT_TYPE}, found {found:?}")]
    StatementType {
        /// Its `_type`.
        found: String,
    },
    /// A statement of another kind.
    #[error("predicateType must be {PREDICATE_TYPE} (a conformance report), found {found:?}")]
    PredicateType {
        /// Its `predicateType`.
        found: String,
    },
    #[error("about {}, not about this component (sha256:{required})", subjects_reported(found))]
    OtherComponent {
        /// SHA-256 of the component.
        required: String,
        /// Names and digests that it is about.
        found: Vec<(String, String)>,
    },
    /// The kit found something.
    #[error("{failed} of {checks} checks of the kit failed")]
    Failed {
        failed: u64,
        /// All checks that were tried.
        checks: u64,
    },
    #[error("made by kit {found}, must be made by kit {required} or later")]
    KitTooOld {
        /// As the report says.
        found: String,
        /// The oldest that counts.
        required: Version,
    },
    /// Only a part of the kit was asked for.
    #[error("incomplete: made without the layers {}", listed(missing))]
    Incomplete {
        /// Layers that aren't in it.
        missing: Vec<String>,
    },
    /// The kit didn't try it as what it is to be.
    #[error("the component was not tested as {role}, only as {}", listed(tested))]
    RoleNotTested {
        /// The role that it is to be used in.
        role: String,
        /// The roles that were tried.
        tested: Vec<String>,
    },
}

impl VerifyError {
    /// How near a report came, so that of several the most telling reason is reported.
    pub fn nearness(&self) -> u8 {
        match self {
            Self::TooLarge | Self::Malformed { .. } | Self::Base64 | Self::Signatures { .. } => 0,
            Self::PayloadType { .. } | Self::Unsigned => 1,
            Self::UnknownKey { .. } => 2,
            Self::Signature { .. } => 3,
            Self::Statement { .. } | Self::StatementType { .. } | Self::PredicateType { .. } => 4,
            Self::OtherComponent { .. } => 5,
            Self::RoleNotTested { .. } => 6,
            Self::Incomplete { .. } => 7,
            Self::KitTooOld { .. } => 8,
            Self::Failed { .. } => 9,
        }
    }
}

impl From<EnvelopeFault> for VerifyError {
    fn from(fault: EnvelopeFault) -> Self {
        match fault {
            EnvelopeFault::TooLarge => Self::TooLarge,
            EnvelopeFault::Malformed { line, column } => Self::Malformed { line, column },
            EnvelopeFault::Base64 => Self::Base64,
            EnvelopeFault::Signatures { count } => Self::Signatures { count },
        }
    }
}

/// Checks a report's envelope: who signed it, what it is about, and what it says. Nothing of the payload is read before a
/// signature of one of `keys` was found right.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn verify(
    envelope: &[u8],
    keys: &[PublicKey],
    required: &Requirements<'_>,
) -> Result<Accepted, VerifyError> {
    let envelope = envelope::open(envelope)?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(VerifyError::PayloadType { found: shown(&envelope.payload_type) });
    }
    let key_index = signer(&envelope, keys)?;
    let malformed =
        |error: serde_json::Error| VerifyError::Statement { line: error.line(), column: error.column() };
    let statement: StatementDocument<IgnoredAny> =
        serde_json::from_slice(&envelope.payload).map_err(malformed)?;
    if statement.statement_type != STATEMENT_TYPE {
        return Err(VerifyError::StatementType { found: shown(&statement.statement_type) });
    }
    if statement.predicate_type != PREDICATE_TYPE {
        return Err(VerifyError::PredicateType { found: shown(&statement.predicate_type) });
    }
    if !statement.subject.iter().any(|subject| sha256(subject) == Some(required.digest)) {
        let found = statement.subject.iter().take(ITEMS_SHOWN_MAX);
        let found = found.map(|subject| (shown(&subject.name), shown(sha256(subject).unwrap_or_default())));
        return Err(VerifyError::OtherComponent {
            required: required.digest.to_owned(),
            found: found.collect(),
        });
    }
    // Of this type, and so of this shape.
    let statement: StatementDocument<Conformance> =
        serde_json::from_slice(&envelope.payload).map_err(malformed)?;
    let conformance = statement.predicate;
    judge(&conformance, required)?;
    let Conformance { kit_version, passed, config_digest, time, .. } = conformance;
    let key_id = keys[key_index].id();
    Ok(Accepted { key_id, key_index, kit_version, passed, config_digest, time })
}

/// Names and SHA-256 digests of the components that a report says it is about. Nothing vouches for them: this sorts reports,
/// and verifies none.
///
/// # Errors
///
/// When it isn't an envelope with a statement in it.
pub fn subjects(envelope: &[u8]) -> Result<Vec<(String, String)>, VerifyError> {
    let envelope = envelope::open(envelope)?;
    let statement: StatementDocument<IgnoredAny> = serde_json::from_slice(&envelope.payload)
        .map_err(|error| VerifyError::Statement { line: error.line(), column: error.column() })?;
    let subjects = statement.subject.into_iter();
    Ok(subjects
        .filter_map(|subject| Some((sha256(&subject)?.to_owned(), subject.name)))
        .map(|(digest, name)| (name, digest))
        .collect())
}

/// Which of the keys signed it.
fn signer(envelope: &Envelope, keys: &[PublicKey]) -> Result<usize, VerifyError> {
    if envelope.signatures.is_empty() {
        return Err(VerifyError::Unsigned);
    }
    let message = envelope::authenticated(&envelope.payload_type, &envelope.payload);
    let mut wrong = None;
    for signature in &envelope.signatures {
        for (index, key) in keys.iter().enumerate() {
            if key.verifies(&message, &signature.bytes) {
                return Ok(index);
            }
            let id = key.id();
            if signature.key_id.as_deref() == Some(&*id) {
                wrong = Some(id);
            }
        }
    }
    Err(match wrong {
        Some(key) => VerifyError::Signature { key },
        None => {
            let ids = envelope.signatures.iter().take(ITEMS_SHOWN_MAX);
            let ids = ids.map(|signature| shown(signature.key_id.as_deref().unwrap_or_default()));
            VerifyError::UnknownKey { found: ids.collect() }
        }
    })
}

fn judge(conformance: &Conformance, required: &Requirements<'_>) -> Result<(), VerifyError> {
    let tested = |role: &str| conformance.roles.iter().any(|tested| tested.role == role);
    if let Some(role) = required.roles.iter().find(|role| !tested(role)) {
        let tested =
            conformance.roles.iter().take(ITEMS_SHOWN_MAX).map(|tested| shown(&tested.role)).collect();
        return Err(VerifyError::RoleNotTested { role: (*role).to_owned(), tested });
    }
    let missing = LAYERS.iter().filter(|layer| !conformance.checks.contains_key(**layer));
    let missing: Vec<String> = missing.map(|layer| (*layer).to_owned()).collect();
    if !missing.is_empty() {
        return Err(VerifyError::Incomplete { missing });
    }
    let version = Version::parse(&conformance.kit_version);
    if let Some(oldest) = &required.kit_version
        && !version.is_ok_and(|version| version.cmp_precedence(oldest).is_ge())
    {
        let required = oldest.clone();
        return Err(VerifyError::KitTooOld { found: shown(&conformance.kit_version), required });
    }
    let failed: u64 = conformance.checks.values().map(|checks| u64::from(checks.failed)).sum();
    // One that contradicts itself hasn't passed.
    if !required.failed_too && (!conformance.passed || failed > 0) {
        let passed: u64 = conformance.checks.values().map(|checks| u64::from(checks.passed)).sum();
        return Err(VerifyError::Failed { failed, checks: failed + passed });
    }
    Ok(())
}

fn sha256(subject: &SubjectDocument) -> Option<&str> {
    subject.digest.get(SUBJECT_ALGORITHM).map(String::as_str)
}

/// A foreign text, cut, and without what a terminal would take for a command.
fn shown(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}

fn keys(found: &[String]) -> String {
    let named = found.iter().map(|id| {
        if id.is_empty() { "a key that it doesn't name".to_owned() } else { format!("key {}", short(id)) }
    });
    named.collect::<Vec<_>>().join(", ")
}

fn subjects_reported(found: &[(String, String)]) -> String {
    if found.is_empty() {
        return "nothing".to_owned();
    }
    found.iter().map(|(name, digest)| format!("{name:?} (sha256:{digest})")).collect::<Vec<_>>().join(", ")
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

#[cfg(test)]
mod tests;
