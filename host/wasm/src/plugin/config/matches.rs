//! `admission.match`: which pods a handler is asked about.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use witlet_core::admission::Operation;
use witlet_core::pod::validation::validate;

use super::document::{CriteriaDocument, LabelSelectorDocument, MatchDocument, RequirementDocument};
use super::values::Globs;
use super::{ConfigError, check_count, field};
use crate::plugin::matching::{
    Criteria, LabelOperator, LabelRequirement, LabelSelector, PodMatch, STATIC_SOURCES, SYSTEM_NAMESPACE,
    SYSTEM_PRIORITY_CLASSES,
};

/// How many items a list of a match can have.
pub const MATCH_ITEMS_MAX: usize = 64;
/// How many exclusions an entry can have.
pub const EXCLUSIONS_MAX: usize = 16;

/// What a list without items would mean, and the way out.
const NEVER_ASKED: &str = "must not be empty: remove it, or write [\"*\"] for all";
const NOTHING_EXCLUDED: &str = "must not be empty: remove it";

pub(super) fn parse(document: MatchDocument, path: &str) -> Result<PodMatch, ConfigError> {
    let MatchDocument { system_pods, exclude, .. } = document;
    let criteria = CriteriaDocument {
        namespaces: document.namespaces,
        label_selector: document.label_selector,
        operations: document.operations,
        priority_classes: document.priority_classes,
        sources: document.sources,
        service_accounts: document.service_accounts,
        images: document.images,
    };
    if !system_pods {
        check_system(&criteria, path)?;
    }
    let criteria = self::criteria(criteria, path, NEVER_ASKED)?;
    check_count(&format!("{path}.exclude"), exclude.len(), EXCLUSIONS_MAX)?;
    let excluded = exclude.into_iter().enumerate().map(|(index, document)| {
        let path = format!("{path}.exclude[{index}]");
        let criteria = self::criteria(document, &path, NOTHING_EXCLUDED)?;
        if criteria == Criteria::default() {
            return field(&path, "must have at least one field: an empty item excludes every pod");
        }
        Ok(criteria)
    });
    Ok(PodMatch { system_pods, criteria, exclude: excluded.collect::<Result<_, _>>()? })
}

/// Refuses what only system pods meet where the entry isn't asked about them: it would never be asked.
fn check_system(criteria: &CriteriaDocument, path: &str) -> Result<(), ConfigError> {
    let is_only = |patterns: &Option<Vec<String>>, of: &dyn Fn(&str) -> bool| {
        patterns
            .as_ref()
            .is_some_and(|patterns| !patterns.is_empty() && patterns.iter().all(|pattern| of(pattern)))
    };
    let (name, what) = if is_only(&criteria.namespaces, &|pattern| pattern == SYSTEM_NAMESPACE) {
        ("namespaces", "all pods of kube-system are system pods")
    } else if is_only(&criteria.priority_classes, &|pattern| SYSTEM_PRIORITY_CLASSES.contains(&pattern)) {
        ("priorityClasses", "all pods of these classes are system pods")
    } else if is_only(&criteria.sources, &|pattern| STATIC_SOURCES.contains(&pattern)) {
        ("sources", "on a node with an API server all pods of these sources are system pods")
    } else {
        return Ok(());
    };
    let problem = format!("{what}, which the plugin isn't asked about: add `systemPods: true` next to it");
    field(&format!("{path}.{name}"), problem)
}

fn criteria(document: CriteriaDocument, path: &str, empty: &str) -> Result<Criteria, ConfigError> {
    let place = |name: &str| format!("{path}.{name}");
    let globs = |patterns: Option<Vec<String>>, name: &str, check: fn(&str) -> Result<(), String>| {
        patterns.map(|patterns| globs(patterns, &place(name), empty, check)).transpose()
    };
    Ok(Criteria {
        namespaces: globs(document.namespaces, "namespaces", check_pattern)?,
        labels: document
            .label_selector
            .map(|selector| label_selector(selector, &place("labelSelector")))
            .transpose()?,
        operations: document
            .operations
            .map(|operations| self::operations(&operations, &place("operations"), empty))
            .transpose()?,
        priority_classes: globs(document.priority_classes, "priorityClasses", check_pattern)?,
        sources: globs(document.sources, "sources", check_pattern)?,
        service_accounts: globs(document.service_accounts, "serviceAccounts", check_service_account)?,
        images: globs(document.images, "images", check_image)?,
    })
}

fn globs(
    patterns: Vec<String>,
    path: &str,
    empty: &str,
    check: fn(&str) -> Result<(), String>,
) -> Result<Globs, ConfigError> {
    if patterns.is_empty() {
        return field(path, empty);
    }
    check_count(path, patterns.len(), MATCH_ITEMS_MAX)?;
    for (index, pattern) in patterns.iter().enumerate() {
        if let Err(problem) = check(pattern) {
            return field(&format!("{path}[{index}]"), problem);
        }
    }
    Ok(Globs::new(patterns))
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() { Err("no text: write a name, or \"*\" for all".to_owned()) } else { Ok(()) }
}

fn check_service_account(pattern: &str) -> Result<(), String> {
    let parts = pattern.split('/').filter(|part| !part.is_empty()).count();
    if pattern == "*" || (parts == 2 && pattern.matches('/').count() == 1) {
        return Ok(());
    }
    Err(format!("{pattern:?} isn't NAMESPACE/NAME: write \"*/{pattern}\" for any namespace"))
}

/// Names of images are compared in full, so that a short one would never match.
fn check_image(pattern: &str) -> Result<(), String> {
    let begins_with_registry = match pattern.split_once('/') {
        Some((registry, _)) => registry == "localhost" || registry.contains(['.', ':', '*']),
        // The slash may be among what `*` stands for.
        None => pattern.starts_with('*') || pattern.split(':').next().is_some_and(|name| name.contains('.')),
    };
    if begins_with_registry || pattern.starts_with("file:") {
        return Ok(());
    }
    let folder = if pattern.contains('/') { "docker.io/" } else { "docker.io/library/" };
    Err(format!(
        "{pattern:?} isn't a full name, and names are compared in full: write \"{folder}{pattern}\" or \"*/{pattern}\""
    ))
}

fn operations(names: &[String], path: &str, empty: &str) -> Result<Vec<Operation>, ConfigError> {
    if names.is_empty() {
        return field(path, empty.replace("[\"*\"]", &format!("[{}]", Operation::names())));
    }
    let operation = |(index, name): (usize, &String)| {
        let problem = || format!("must be one of {}, found {name:?}", Operation::names());
        Operation::parse(name).map_or_else(|| field(&format!("{path}[{index}]"), problem()), Ok)
    };
    names.iter().enumerate().map(operation).collect()
}

pub(super) fn label_selector(
    document: LabelSelectorDocument,
    path: &str,
) -> Result<LabelSelector, ConfigError> {
    let LabelSelectorDocument { match_labels, match_expressions } = document;
    if match_labels.is_empty() && match_expressions.is_empty() {
        return field(path, "must have at least one label: remove it to select every pod");
    }
    check_count(&format!("{path}.matchExpressions"), match_expressions.len(), MATCH_ITEMS_MAX)?;
    check_count(&format!("{path}.matchLabels"), match_labels.len(), MATCH_ITEMS_MAX)?;
    for (key, value) in &match_labels {
        check_label(key, value, &format!("{path}.matchLabels"))?;
    }
    let expressions = match_expressions.into_iter().enumerate();
    let expressions = expressions
        .map(|(index, document)| requirement(document, &format!("{path}.matchExpressions[{index}]")));
    Ok(LabelSelector { match_expressions: expressions.collect::<Result<_, _>>()?, match_labels })
}

fn requirement(document: RequirementDocument, path: &str) -> Result<LabelRequirement, ConfigError> {
    let RequirementDocument { key, operator: name, values } = document;
    let (operator, has_values) = match name.as_str() {
        "In" => (LabelOperator::In, true),
        "NotIn" => (LabelOperator::NotIn, true),
        "Exists" => (LabelOperator::Exists, false),
        "DoesNotExist" => (LabelOperator::DoesNotExist, false),
        other => {
            let problem = format!("must be one of In, NotIn, Exists, DoesNotExist, found {other:?}");
            return field(&format!("{path}.operator"), problem);
        }
    };
    let place = format!("{path}.values");
    match (has_values, values.is_empty()) {
        (true, true) => return field(&place, format!("none, and {name} needs one: add it")),
        (false, false) => return field(&place, format!("must be empty with {name}")),
        (true, false) | (false, true) => {}
    }
    check_count(&place, values.len(), MATCH_ITEMS_MAX)?;
    check_label(&key, "", &format!("{path}.key"))?;
    for value in &values {
        check_label(&key, value, &place)?;
    }
    Ok(LabelRequirement { key, operator, values })
}

/// A label that no pod could have would select none: judged as labels of pods are.
fn check_label(key: &str, value: &str, path: &str) -> Result<(), ConfigError> {
    let labels = Some([(key.to_owned(), value.to_owned())].into());
    let pod = Pod { metadata: ObjectMeta { labels, ..ObjectMeta::default() }, ..Pod::default() };
    match validate(&pod).into_iter().find(|error| error.path == "metadata.labels") {
        Some(error) => field(path, error.message),
        None => Ok(()),
    }
}
