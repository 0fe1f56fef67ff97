//! Whether compiled code that a set of plugins brings is used in place of compiling its components here.
//!
//! Compiled code runs outside of any sandbox, so that it is the operator's to allow, and counts only where a key that the operator trusts
//! has signed it and it was made for exactly this engine and processor. Code that isn't used costs a compilation and nothing else.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use crate::text::shortened;

#[cfg(test)]
mod tests;

/// How long the reason in a report may be.
const MESSAGE_BYTES_MAX: usize = 512;

/// What code is compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeTarget {
    /// Name of the host's engine.
    pub engine: String,
    /// Hash of everything that shapes code: the engine's version, its settings, and the processor's features that it makes use of.
    pub compatibility: String,
    /// Architecture of the processor.
    pub architecture: String,
    /// Features of the processor that an engine can make use of, sorted.
    pub cpu_features: Vec<String>,
}

/// Compiled code in the manifest of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeOffer {
    /// Digest of the component that it was compiled from, `sha256:` and 64 hexadecimal digits.
    pub component: String,
    /// What it was compiled for.
    pub target: CodeTarget,
    /// Digest of its bytes.
    pub digest: String,
    /// Number of its bytes.
    pub size: u64,
}

/// What the operator trusts, and what vouches for a set.
#[derive(Clone, Copy, Debug)]
pub struct CodeTrust<'a> {
    /// Whether the operator's policy has `compiledCode: Signed`.
    pub is_allowed: bool,
    /// Id of the key with which the signature of the set's manifest was verified.
    pub signed_by: Option<&'a str>,
    /// Ids of the keys of the operator's policy that count now.
    pub keys: &'a [String],
}

/// The node that would run the code, and the set that it comes with.
#[derive(Clone, Copy, Debug)]
pub struct CodeUse<'a> {
    /// Digests of the components in the set.
    pub components: &'a [String],
    /// What this node's engines compile for.
    pub engines: &'a [CodeTarget],
}

/// Why compiled code isn't used. In the order in which they are looked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodeRefusal {
    /// The operator doesn't want any.
    #[error("the policy of sets (--plugin-sets) doesn't have compiledCode: Signed")]
    Off,
    /// No key that counts vouches for it.
    #[error("no key of the policy of sets (--plugin-sets) has signed it")]
    NotSigned,
    /// It is of a component that the set doesn't have.
    #[error("it is of the component {component}, which the set doesn't have")]
    OtherComponent {
        /// Digest of that component.
        component: String,
    },
    /// This release has no such engine.
    #[error("it is for an engine {engine:?}, which this release doesn't have")]
    NoEngine { engine: String },
    #[error("it is for {found}, and this node is {expected}")]
    OtherArchitecture { found: String, expected: String },
    /// The same architecture, with other features.
    #[error("it is for another processor: {}", features(missing, more))]
    OtherProcessor {
        /// Features that this node lacks.
        missing: Vec<String>,
        /// Features that only this node has.
        more: Vec<String>,
    },
    /// The same processor, with another engine.
    #[error(
        "it is for another version of the engine, or for one with other settings: push it with this node's release"
    )]
    OtherEngine,
    /// There is code of this node's own.
    #[error("this node has compiled the component before")]
    CompiledHere,
    /// The registry doesn't bring it.
    #[error("failed to fetch it: {problem}")]
    NotHad { problem: String },
    /// Other bytes than those that were signed.
    #[error("its bytes have the digest {found}, and the set's manifest has {expected}")]
    OtherBytes { found: String, expected: String },
    /// The cache of compiled code doesn't take it.
    #[error("failed to store it: {problem}")]
    NotKept { problem: String },
}

impl CodeRefusal {
    /// How many conditions it met before this one.
    fn conditions_met(&self) -> u8 {
        match self {
            Self::Off => 0,
            Self::NotSigned => 1,
            Self::OtherComponent { .. } => 2,
            Self::NoEngine { .. } => 3,
            Self::OtherArchitecture { .. } => 4,
            Self::OtherProcessor { .. } => 5,
            Self::OtherEngine => 6,
            Self::CompiledHere => 7,
            Self::NotHad { .. } => 8,
            Self::OtherBytes { .. } => 9,
            Self::NotKept { .. } => 10,
        }
    }
}

fn features(missing: &[String], more: &[String]) -> String {
    let parts = [("this node lacks", missing), ("only this node has", more)];
    let parts = parts.iter().filter(|(_, features)| !features.is_empty());
    let parts: Vec<String> =
        parts.map(|(words, features)| format!("{words} {}", features.join(", "))).collect();
    parts.join("; ")
}

/// Whether code may be used. `found` is the digest of its bytes; none before they were brought.
///
/// # Errors
///
/// When it may not: then the component is compiled here.
pub fn judge(
    trust: CodeTrust<'_>,
    offer: &CodeOffer,
    CodeUse { components, engines }: CodeUse<'_>,
    found: Option<&str>,
) -> Result<(), CodeRefusal> {
    if !trust.is_allowed {
        return Err(CodeRefusal::Off);
    }
    if !trust.signed_by.is_some_and(|signer| trust.keys.iter().any(|key| key == signer)) {
        return Err(CodeRefusal::NotSigned);
    }
    if !components.contains(&offer.component) {
        return Err(CodeRefusal::OtherComponent { component: offer.component.clone() });
    }
    let CodeTarget { engine, compatibility, architecture, cpu_features } = &offer.target;
    let Some(own) = engines.iter().find(|own| own.engine == *engine) else {
        return Err(CodeRefusal::NoEngine { engine: engine.clone() });
    };
    if own.architecture != *architecture {
        let (found, expected) = (architecture.clone(), own.architecture.clone());
        return Err(CodeRefusal::OtherArchitecture { found, expected });
    }
    if own.cpu_features != *cpu_features {
        let (missing, more) =
            (lacking(cpu_features, &own.cpu_features), lacking(&own.cpu_features, cpu_features));
        return Err(CodeRefusal::OtherProcessor { missing, more });
    }
    if own.compatibility != *compatibility {
        return Err(CodeRefusal::OtherEngine);
    }
    match found {
        Some(found) if found != offer.digest => {
            Err(CodeRefusal::OtherBytes { found: found.to_owned(), expected: offer.digest.clone() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns those of `all` that `others` doesn't have.
fn lacking(all: &[String], others: &[String]) -> Vec<String> {
    all.iter().filter(|feature| !others.contains(feature)).cloned().collect()
}

/// A component on one engine, for which a set brings code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePart {
    /// Digest of the component.
    pub component: String,
    /// Name of the engine.
    pub engine: String,
    /// The code that may be used; if there is none, what the closest lacks.
    pub outcome: Result<CodeOffer, CodeRefusal>,
}

/// Returns what of a set's code may be used, before any of it is brought: for each component and engine that it has code of.
pub fn choose(trust: CodeTrust<'_>, offers: &[CodeOffer], place: CodeUse<'_>) -> Vec<CodePart> {
    let mut parts = BTreeMap::<(&str, &str), Result<CodeOffer, CodeRefusal>>::new();
    for offer in offers {
        let judged = judge(trust, offer, place, None).map(|()| offer.clone());
        let part = (&*offer.component, &*offer.target.engine);
        let is_better = match (parts.get(&part), &judged) {
            (None | Some(Err(_)), Ok(_)) | (None, Err(_)) => true,
            (Some(Ok(_)), _) => false,
            (Some(Err(known)), Err(refusal)) => refusal.conditions_met() > known.conditions_met(),
        };
        if is_better {
            parts.insert(part, judged);
        }
    }
    let part = |((component, engine), outcome): ((&str, &str), _)| CodePart {
        component: component.to_owned(),
        engine: engine.to_owned(),
        outcome,
    };
    parts.into_iter().map(part).collect()
}

/// What became of a set's compiled code, for those who check the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeReport {
    /// How many components run code of the set, each counted once for each engine.
    pub used: usize,
    /// How many were compiled here though the set brings code of them.
    pub unused: usize,
    /// Why the first of them was.
    pub message: Option<String>,
    /// Architectures that the set has code for, sorted.
    pub architectures: Vec<String>,
}

impl CodeReport {
    /// Creates the report of a set with this code; `None` without any.
    pub fn of<'a>(
        offers: &[CodeOffer],
        outcomes: impl IntoIterator<Item = Result<(), &'a CodeRefusal>>,
    ) -> Option<Self> {
        if offers.is_empty() {
            return None;
        }
        let mut report = Self::default();
        for outcome in outcomes {
            match outcome {
                Ok(()) => report.used += 1,
                Err(refusal) => {
                    report.unused += 1;
                    report.message.get_or_insert_with(|| shortened(refusal.to_string(), MESSAGE_BYTES_MAX));
                }
            }
        }
        report.architectures = offers.iter().map(|offer| offer.target.architecture.clone()).collect();
        report.architectures.sort();
        report.architectures.dedup();
        Some(report)
    }
}
