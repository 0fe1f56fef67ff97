//! How a pod fits to the node and to the pods that are on it.

use std::time::Duration;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Operation, QosClass, Request, Shortage, Verdict};

/// A pod that names a zone runs in that zone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeZone {
    /// The pod's label that names it.
    pub label: String,
}

impl AdmissionHandler for NodeZone {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let here = request.node().label("topology.kubernetes.io/zone").unwrap_or_default();
        let elsewhere = request.pod().label(&self.label).filter(|zone| *zone != here);
        Ok(Verdict::reject_first(
            "OtherZone",
            elsewhere.map(|zone| format!("the pod is for zone {zone}, the node is in {here:?}")),
        ))
    }
}

/// At most so many pods of a controller are on the node; more wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpreadReplicas {
    /// How many.
    pub most: usize,
}

impl AdmissionHandler for SpreadReplicas {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let Some(owner) = request.pod().controller().map(|owner| owner.uid()) else {
            return Ok(Verdict::admit());
        };
        let controllers = request.other_pods().filter_map(|pod| pod.controller());
        let others = controllers.filter(|other| other.uid() == owner).count();
        if others < self.most {
            return Ok(Verdict::admit());
        }
        let message = format!("{others} pods of the same controller are on the node");
        Ok(Verdict::defer("TooManyReplicas", message, Duration::from_secs(60)))
    }
}

/// Part of a resource stays free.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// Such as `memory`.
    pub resource: String,
    /// How many hundredths of what is allocatable.
    pub percent: i64,
}

impl AdmissionHandler for Headroom {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add, Operation::Resize]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let (node, resource) = (request.node(), self.resource.clone());
        let (used, requested) = (node.requested(&resource), request.pod().request(&resource).unwrap_or(0));
        let allocatable = node.allocatable(&resource).unwrap_or(0);
        let capacity = allocatable - allocatable / 100 * self.percent.clamp(0, 100);
        let lacks = requested > 0 && used.saturating_add(requested) > capacity;
        Ok(Verdict::shortages(lacks.then_some(Shortage { resource, requested, used, capacity })))
    }
}

/// Pods that ask for nothing wait while the node is under this pressure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnderPressure {
    /// Such as `PIDPressure`.
    pub condition: String,
}

impl AdmissionHandler for UnderPressure {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pressure = request.node().condition(&self.condition).is_some_and(|it| it.status() == "True");
        if pressure && request.pod().qos() == QosClass::BestEffort {
            return Ok(Verdict::defer(
                "UnderPressure",
                format!("the node has {}", self.condition),
                Duration::from_secs(30),
            ));
        }
        Ok(Verdict::admit())
    }
}
