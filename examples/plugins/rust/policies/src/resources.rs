//! What pods ask for and are limited to: numbers, `cpu` in milli-CPU and everything else in base units.

use std::collections::BTreeMap;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, ContainerKind, Error, Operation, QosClass, Request, Verdict};

/// When resources are decided on.
const ADD_AND_RESIZE: [Operation; 2] = [Operation::Add, Operation::Resize];

/// Containers are limited in these resources; ephemeral containers have no resources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequired {
    /// Such as `memory`.
    pub resources: Vec<String>,
}

impl AdmissionHandler for LimitsRequired {
    fn subscribes(&self) -> Vec<Operation> {
        ADD_AND_RESIZE.into()
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let containers =
            request.pod().containers().filter(|container| container.kind() != ContainerKind::Ephemeral);
        let objections = containers.filter_map(|container| {
            let missing = self.resources.iter().find(|resource| container.limit(resource).is_none())?;
            Some(format!("{container} has no limit of {missing}"))
        });
        Ok(Verdict::reject_first("NoLimit", objections))
    }
}

/// A container's limit is at most so many times its request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitRatio {
    /// Such as `memory`.
    pub resource: String,
    /// How many times.
    pub most: i64,
}

impl AdmissionHandler for LimitRatio {
    fn subscribes(&self) -> Vec<Operation> {
        ADD_AND_RESIZE.into()
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let Self { resource, most } = self;
        let objections = request.pod().containers().filter_map(|container| {
            let limit = container.limit(resource)?;
            let requested = container.request(resource).unwrap_or(limit);
            let excess = limit > requested.saturating_mul(*most);
            excess
                .then(|| format!("{container} is limited to {limit} of {resource} and requests {requested}"))
        });
        Ok(Verdict::reject_first("LimitRatio", objections))
    }
}

/// A pod requests at most so much.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodSize {
    /// By resource.
    pub most: BTreeMap<String, i64>,
}

impl AdmissionHandler for PodSize {
    fn subscribes(&self) -> Vec<Operation> {
        ADD_AND_RESIZE.into()
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let objections = self.most.iter().filter_map(|(resource, most)| {
            let requested = pod.request(resource).filter(|requested| requested > most)?;
            Some(format!("the pod requests {requested} of {resource}, more than {most}"))
        });
        Ok(Verdict::reject_first("PodTooLarge", objections))
    }
}

/// Pods of these priority classes are of the class Guaranteed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GuaranteedQos {
    /// Such as `database`.
    pub priority_classes: Vec<String>,
}

impl AdmissionHandler for GuaranteedQos {
    fn subscribes(&self) -> Vec<Operation> {
        ADD_AND_RESIZE.into()
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let (class, qos) = (request.pod().priority_class(), request.pod().qos());
        let is_meant = self.priority_classes.contains(&class) && qos != QosClass::Guaranteed;
        let objection =
            is_meant.then(|| format!("a pod of the priority class {class} is {qos}, not Guaranteed"));
        Ok(Verdict::reject_first("NotGuaranteed", objection))
    }
}

/// A running pod grows at most to so many times what it has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResizeAtMost {
    /// How many times.
    pub most: i64,
}

impl AdmissionHandler for ResizeAtMost {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Resize]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let Some(old) = request.old_pod() else { return Ok(Verdict::admit()) };
        let pod = request.pod();
        let objections = pod.resources().into_iter().filter_map(|resource| {
            let (now, before) = (pod.request(&resource)?, old.request(&resource)?);
            let excess = now > before.saturating_mul(self.most);
            excess.then(|| format!("{now} of {resource} are more than {} times {before}", self.most))
        });
        Ok(Verdict::reject_first("ResizeTooLarge", objections))
    }
}
