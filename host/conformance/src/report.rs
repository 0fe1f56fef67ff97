//! What an examination came to.

mod human;
mod junit;

use serde::Serialize;
use serde_json::Value;
use witlet_wasm::inspect::{Inspection, ServedRole};
use witlet_wasm::record::replay::digest_of;
use witlet_wasm::role::Role;

use crate::check::{Check, CheckResult, Figure};
use crate::plan::{KIT_VERSION, Layer, Plan, Subject};

/// `apiVersion` of a report.
pub const API_VERSION: &str = "witlet.dev/v1alpha1";
/// `kind` of a report.
pub const KIND: &str = "ConformanceReport";

/// What an examination came to. As JSON it is stable: fields are only added.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub kit_version: &'static str,
    pub component: Examined,
    /// Its roles, with the versions of the contracts that served it.
    pub roles: Vec<ReportRole>,
    /// The configuration that it was tried with where no case says otherwise.
    pub config: Value,
    /// What generated inputs were made from.
    pub seed: u64,
    /// The layers that it was examined in.
    pub layers: Vec<Layer>,
    /// Everything that was checked, in order.
    pub checks: Vec<Check>,
    pub figures: Vec<Figure>,
}

/// A component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Examined {
    /// As the caller named it.
    pub name: String,
    /// SHA-256 in hexadecimal.
    pub digest: String,
    pub size_bytes: usize,
}

impl Examined {
    pub(crate) fn of(subject: &Subject, inspection: &Inspection) -> Self {
        let digest = inspection.digest.clone();
        Self { name: subject.name.clone(), digest, size_bytes: inspection.size_bytes }
    }
}

/// A role of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReportRole {
    pub role: Role,
    /// The contract's version that served it.
    pub version: &'static str,
}

impl ReportRole {
    pub(crate) fn of(served: &ServedRole) -> Self {
        Self { role: served.role, version: served.version }
    }
}

impl Report {
    pub(crate) fn new(subject: &Subject, plan: &Plan) -> Self {
        let digest = digest_of(&subject.wasm);
        Self {
            api_version: API_VERSION,
            kind: KIND,
            kit_version: KIT_VERSION,
            component: Examined { name: subject.name.clone(), digest, size_bytes: subject.wasm.len() },
            roles: Vec::new(),
            config: Value::Null,
            seed: plan.seed,
            layers: Layer::ALL
                .into_iter()
                .filter(|layer| *layer == Layer::Load || plan.layers.contains(layer))
                .collect(),
            checks: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Whether nothing was found, and the component could at least be loaded.
    pub fn passed(&self) -> bool {
        let failed = self.checks.iter().any(|check| matches!(check.result, CheckResult::Failed(_)));
        let loaded = self
            .checks
            .iter()
            .any(|check| check.layer == Layer::Load && matches!(check.result, CheckResult::Passed));
        loaded && !failed
    }

    /// Checks that found something.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.result, CheckResult::Failed(_)))
    }

    /// How many checks of a layer passed, failed and were skipped.
    pub fn count(&self, layer: Layer) -> Count {
        Count::of(self.checks.iter().filter(|check| check.layer == layer))
    }
}

/// How many checks came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Count {
    fn of<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Self {
        let mut count = Self::default();
        for check in checks {
            match check.result {
                CheckResult::Passed => count.passed += 1,
                CheckResult::Failed(_) => count.failed += 1,
                CheckResult::Skipped { .. } => count.skipped += 1,
            }
        }
        count
    }
}

#[cfg(test)]
mod tests;
