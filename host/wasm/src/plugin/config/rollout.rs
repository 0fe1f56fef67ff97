//! `admission.rollout`: an entry that takes another's place by degrees.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use witlet_core::admission::rollout::{
    ErrorBudget, MAX_ERROR_PERCENT_DEFAULT, MIN_CALLS_DEFAULT, PERCENT_MAX, RolloutPolicy,
    STEP_PERCENT_DEFAULT,
};

use super::document::{ErrorBudgetDocument, RolloutDocument};
use super::{AdmissionMode, ConfigError, PluginEntry, check_between, field, matches};
use crate::plugin::matching::LabelSelector;

/// The longest time that a step can be made to last.
pub const SOAK_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// The most calls that a step can be made to need.
pub const MIN_CALLS_MAX: u64 = 1_000_000;

/// How a handler takes another's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutRole {
    /// The entry that it replaces, and that judges the pods which this one doesn't.
    pub of: Arc<str>,
    /// Pods that it judges whatever the share is.
    pub labels: Option<LabelSelector>,
    /// How it goes on, and what ends it.
    pub policy: RolloutPolicy,
    /// SHA-256 of the entry as the file has it, in hexadecimal; however it is laid out.
    pub entry_digest: Arc<str>,
}

pub(super) fn parse(document: RolloutDocument, path: &str) -> Result<RolloutRole, ConfigError> {
    if document.of.is_empty() {
        return field(&format!("{path}.of"), "must not be empty: name the entry to replace");
    }
    let labels = document
        .label_selector
        .map(|selector| matches::label_selector(selector, &format!("{path}.labelSelector")))
        .transpose()?;
    let place = format!("{path}.percent");
    let percent = match document.percent {
        Some(percent) => percent_in(percent, 0, &place)?,
        None if labels.is_some() => 0,
        None => {
            let problem = "must be 1 to 100, the percentage of pods, unless `labelSelector` is set";
            return field(&place, problem);
        }
    };
    if percent == 0 && labels.is_none() {
        let problem = "0 without `labelSelector`, so that it would judge no pod: write 1 to 100, or `mode: shadow` in place of `rollout`";
        return field(&place, problem);
    }
    let soak = document.soak.map(|text| text.0);
    if let Some(soak) = soak {
        check_between(&format!("{path}.soak"), soak, Duration::ZERO, SOAK_MAX)?;
    }
    if document.step_percent.is_some() && soak.is_none() {
        let problem = "requires `soak`: set it, or remove this";
        return field(&format!("{path}.stepPercent"), problem);
    }
    let step_percent = match document.step_percent {
        Some(percent) => percent_in(percent, 1, &format!("{path}.stepPercent"))?,
        None => STEP_PERCENT_DEFAULT,
    };
    let budget = budget(&document.error_budget, &format!("{path}.errorBudget"))?;
    let policy = RolloutPolicy { percent, step_percent, soak, budget };
    Ok(RolloutRole { of: document.of.into(), labels, policy, entry_digest: Arc::default() })
}

fn budget(document: &ErrorBudgetDocument, path: &str) -> Result<ErrorBudget, ConfigError> {
    let max_error_percent = match document.max_error_percent {
        Some(percent) => percent_in(percent, 0, &format!("{path}.maxErrorPercent"))?,
        None => MAX_ERROR_PERCENT_DEFAULT,
    };
    let min_calls = document.min_calls.unwrap_or(MIN_CALLS_DEFAULT);
    if !(1..=MIN_CALLS_MAX).contains(&min_calls) {
        let problem = format!("must be between 1 and {MIN_CALLS_MAX}, found {min_calls}");
        return field(&format!("{path}.minCalls"), problem);
    }
    let ErrorBudgetDocument { max_errors, max_differences, .. } = *document;
    Ok(ErrorBudget { max_errors, max_error_percent, min_calls, max_differences })
}

/// A share that is this at least.
fn percent_in(percent: i64, min: u8, path: &str) -> Result<u8, ConfigError> {
    match u8::try_from(percent) {
        Ok(share) if (min..=PERCENT_MAX).contains(&share) => Ok(share),
        Ok(_) | Err(_) => field(path, format!("must be between {min} and {PERCENT_MAX}, found {percent}")),
    }
}

/// Refuses what contradicts a rollout in the entry itself.
pub(super) fn check_alone(mode: AdmissionMode, order: Option<i32>, path: &str) -> Result<(), ConfigError> {
    if mode == AdmissionMode::Shadow {
        let problem = "must not be set with `mode: shadow`: a shadow judges no pods";
        return field(&format!("{path}.rollout"), problem);
    }
    if order.is_some() {
        let problem = "must not be set with `rollout`: the order is that of the replaced entry";
        return field(&format!("{path}.order"), problem);
    }
    Ok(())
}

/// Checks rollouts against the entries that they replace, and gives them their places. `places` are those of the entries in the
/// file, whose text it is.
pub(super) fn check_all(
    plugins: &mut [PluginEntry],
    places: &[usize],
    text: &str,
) -> Result<(), ConfigError> {
    if !plugins.iter().any(|entry| rollout(entry).is_some()) {
        return Ok(());
    }
    let mut orders = Vec::new();
    let mut replaced_by = BTreeMap::new();
    for (index, entry) in plugins.iter().enumerate() {
        let Some(rollout) = rollout(entry) else { continue };
        let path = format!("plugins[{}].admission.rollout.of", places.get(index).copied().unwrap_or(index));
        let of = &*rollout.of;
        orders.push((index, replaced_order(of, entry, plugins).or_else(|problem| field(&path, problem))?));
        if let Some(other) = replaced_by.insert(of, &entry.name) {
            let problem = format!("{of:?} is already being replaced by {other:?}: finish that rollout first");
            return field(&path, problem);
        }
    }
    let digests = entry_digests(text);
    for (index, order) in orders {
        if let Some(admission) = plugins[index].admission.as_mut() {
            admission.order = order;
            if let Some(rollout) = &mut admission.rollout {
                let place = places.get(index).copied().unwrap_or(index);
                rollout.entry_digest = digests.get(place).cloned().unwrap_or_default();
            }
        }
    }
    Ok(())
}

fn rollout(entry: &PluginEntry) -> Option<&RolloutRole> {
    entry.admission.as_ref()?.rollout.as_ref()
}

/// The place of the entry `of`, or why `entry` can't take it.
fn replaced_order(of: &str, entry: &PluginEntry, plugins: &[PluginEntry]) -> Result<i32, String> {
    if of == entry.name {
        return Err(format!("{of:?} is this entry: name the entry to replace"));
    }
    let Some(replaced) = plugins.iter().find(|other| other.name == of) else {
        return Err(format!("no other entry has the name {of:?}: name the entry to replace"));
    };
    let Some(admission) = &replaced.admission else {
        return Err(format!("{of:?} is not an admission handler: name one to replace"));
    };
    if admission.rollout.is_some() {
        return Err(format!("{of:?} is being rolled out itself: finish that rollout first"));
    }
    if admission.mode == AdmissionMode::Shadow {
        return Err(format!("{of:?} is a shadow and judges no pods: name an entry with `mode: enforce`"));
    }
    Ok(admission.order)
}

#[derive(Deserialize)]
struct Entries {
    plugins: Vec<Value>,
}

/// SHA-256 of each entry, by its place in the file.
fn entry_digests(text: &str) -> Vec<Arc<str>> {
    // What can't be read was refused before.
    let entries =
        serde_saphyr::from_str(text).map_or_else(|_error| Vec::new(), |Entries { plugins }| plugins);
    entries.into_iter().map(|entry| hex::encode(Sha256::digest(sorted(entry).to_string())).into()).collect()
}

/// Returns the value with the fields of each map in alphabetical order.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}
