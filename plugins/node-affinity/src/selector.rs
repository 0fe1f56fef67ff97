//! Whether a node is selected (the scheduler's `GetRequiredNodeAffinity`).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::label::{is_key, is_value};

/// The one field of a node that can be selected by.
const NAME_FIELD: &str = "metadata.name";

/// What a node is selected by.
pub(crate) struct NodeNames<'a> {
    /// `metadata.name`
    pub(crate) name: &'a str,
    /// `metadata.labels`
    pub(crate) labels: &'a BTreeMap<String, String>,
}

/// `requiredDuringSchedulingIgnoredDuringExecution`: one of the terms must hold.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Affinity {
    #[serde(default)]
    pub(crate) node_selector_terms: Vec<Term>,
}

/// All requirements of a term must hold; a term without any selects nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Term {
    #[serde(default)]
    pub(crate) match_expressions: Vec<Requirement>,
    #[serde(default)]
    pub(crate) match_fields: Vec<Requirement>,
}

/// One requirement. The operator is text, for an unknown one makes its term select nothing, not the pod unreadable.
#[derive(Debug, Deserialize)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) operator: String,
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

/// Whether the node has all labels of the selector and one term of the affinity, if there is one, holds for it.
pub(crate) fn selects(
    selector: &BTreeMap<String, String>,
    affinity: Option<&Affinity>,
    node: &NodeNames<'_>,
) -> bool {
    selector.iter().all(|(key, value)| node.labels.get(key) == Some(value))
        && affinity
            .is_none_or(|affinity| affinity.node_selector_terms.iter().any(|term| term_holds(term, node)))
}

/// A term with a malformed requirement holds for no node, whatever its other requirements say.
fn term_holds(term: &Term, node: &NodeNames<'_>) -> bool {
    let empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    !empty
        && term.match_expressions.iter().all(|requirement| expression_holds(requirement, node.labels))
        && term.match_fields.iter().all(|requirement| field_holds(requirement, node.name))
}

/// A requirement on labels. Keys and values must be such as labels can have, `In` and `NotIn` need values, `Exists`
/// and `DoesNotExist` none, `Gt` and `Lt` one whole number; anything else is malformed.
fn expression_holds(requirement: &Requirement, labels: &BTreeMap<String, String>) -> bool {
    let Requirement { key, operator, values } = requirement;
    if !is_key(key) || !values.iter().all(|value| is_value(value)) {
        return false;
    }
    let label = labels.get(key);
    match (operator.as_str(), values.as_slice()) {
        ("In", [_, ..]) => label.is_some_and(|label| values.contains(label)),
        ("NotIn", [_, ..]) => label.is_none_or(|label| !values.contains(label)),
        ("Exists", []) => label.is_some(),
        ("DoesNotExist", []) => label.is_none(),
        ("Gt", [bound]) => compare(label, bound).is_some_and(|(label, bound)| label > bound),
        ("Lt", [bound]) => compare(label, bound).is_some_and(|(label, bound)| label < bound),
        _ => false,
    }
}

/// A label and a bound as numbers; none where either isn't one.
fn compare(label: Option<&String>, bound: &str) -> Option<(i64, i64)> {
    Some((label?.parse().ok()?, bound.parse().ok()?))
}

/// A requirement on a field: `In` or `NotIn` with one value. A field other than the name is empty.
fn field_holds(requirement: &Requirement, name: &str) -> bool {
    let field = if requirement.key == NAME_FIELD { name } else { "" };
    match (requirement.operator.as_str(), requirement.values.as_slice()) {
        ("In", [value]) => field == value,
        ("NotIn", [value]) => field != value,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
