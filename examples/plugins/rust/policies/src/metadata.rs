//! Who pods belong to, and what they say of themselves.

use std::collections::BTreeMap;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Operation, Request, Verdict};

/// Pods have these labels, with one of these values where any are given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredLabels {
    /// Values by key; none for any.
    pub labels: BTreeMap<String, Vec<String>>,
}

impl AdmissionHandler for RequiredLabels {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let objections = self.labels.iter().filter_map(|(key, values)| match pod.label(key) {
            None => Some(format!("the pod has no label {key}")),
            Some(value) if values.is_empty() || values.contains(&value) => None,
            Some(value) => Some(format!("the label {key} is {value}, not {}", values.join(" or "))),
        });
        Ok(Verdict::reject_first("RequiredLabel", objections))
    }
}

/// Pods have these annotations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredAnnotations {
    /// Their keys.
    pub annotations: Vec<String>,
}

impl AdmissionHandler for RequiredAnnotations {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let missing = self.annotations.iter().filter(|key| pod.annotation(key).is_none());
        Ok(Verdict::reject_first(
            "RequiredAnnotation",
            missing.map(|key| format!("the pod has no annotation {key}")),
        ))
    }
}

/// Pods are made by controllers of these kinds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerKinds {
    /// Such as `ReplicaSet`.
    pub allow: Vec<String>,
}

impl AdmissionHandler for OwnerKinds {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        Ok(match request.pod().controller().map(|owner| owner.kind()) {
            Some(kind) if self.allow.contains(&kind) => Verdict::admit().annotate("controller", kind),
            Some(kind) => Verdict::reject("OwnerKind", format!("the pod is made by a {kind}")),
            None => Verdict::reject("NoOwner", "the pod has no controller"),
        })
    }
}

/// No pod gets a token of its service account by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoServiceAccountToken {}

impl AdmissionHandler for NoServiceAccountToken {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let has_one = pod.has_service_account_token();
        let objection = has_one
            .then(|| format!("a volume brings a token of the service account {}", pod.service_account()));
        Ok(Verdict::reject_first("ServiceAccountToken", objection))
    }
}

/// No pod runs as one of these service accounts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceAccounts {
    /// Such as `default`.
    pub deny: Vec<String>,
}

impl AdmissionHandler for ServiceAccounts {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let denied = Some(request.pod().service_account()).filter(|account| self.deny.contains(account));
        let objection = denied.map(|account| format!("no pod runs as the service account {account}"));
        Ok(Verdict::reject_first("ServiceAccount", objection))
    }
}

/// These priority classes are for pods of these namespaces.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityClasses {
    /// Namespaces by class; other classes are anyone's.
    pub classes: BTreeMap<String, Vec<String>>,
}

impl AdmissionHandler for PriorityClasses {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let (class, namespace) = (request.pod().priority_class(), request.pod().namespace());
        let reserved = self.classes.get(&class).filter(|namespaces| !namespaces.contains(&namespace));
        let objection =
            reserved.map(|_| format!("the priority class {class} isn't for the namespace {namespace}"));
        Ok(Verdict::reject_first("PriorityClass", objection))
    }
}

/// Warns the pod's owner of variables that look like secrets, and have their values in the pod.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvSecrets {
    /// What such names have in them, such as `PASSWORD`.
    pub words: Vec<String>,
}

impl AdmissionHandler for EnvSecrets {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let mut verdict = Verdict::admit();
        for container in request.pod().containers() {
            for (index, name) in container.env_names().iter().enumerate() {
                let has_value = container.pointer(&format!("/env/{index}/value")).is_some();
                if has_value && self.words.iter().any(|word| name.contains(word)) {
                    verdict = verdict.warn(format!("{container} has the value of {name} in its spec"));
                }
            }
        }
        Ok(verdict)
    }
}
