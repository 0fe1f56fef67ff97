//! Admission handler: no pod begins on a node that is short of memory, disk or process ids (upstream: the eviction manager's `Admit`).
//!
//! Critical pods always do. While memory alone is short, pods that request or limit something do, too, and so do others that
//! tolerate the taint `node.kubernetes.io/memory-pressure:NoSchedule`.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use witlet_plugin_sdk::{
    AdmissionHandler, Error, Pod, QosClass, Request, Taint, Toleration, Verdict, export_admission,
};

/// Reason of the rejection.
pub const REASON: &str = "Evicted";

const MEMORY: &str = "MemoryPressure";
/// In the order in which they are named.
const PRESSURES: [&str; 3] = [MEMORY, "DiskPressure", "PIDPressure"];

const API: &str = "api";
/// The node's own sources next to the API server: their pods are static, and critical.
const STATIC: [&str; 2] = ["file", "http"];
/// From this priority on the system needs a pod (upstream: `SystemCriticalPriority`).
const CRITICAL_PRIORITY_MIN: i32 = 2_000_000_000;
/// The API server's image of a static pod has this annotation.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The handler.
pub struct NodePressure;

impl AdmissionHandler for NodePressure {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let conditions = request.node().conditions();
        let holds = |kind: &&str| {
            conditions.iter().any(|condition| condition.kind == **kind && condition.status == "True")
        };
        let pressures: Vec<&str> = PRESSURES.into_iter().filter(holds).collect();
        let pod = request.pod();
        if pressures.is_empty() || is_critical(&pod) {
            return Ok(Verdict::Admit);
        }
        if pressures == [MEMORY] && (pod.qos() != QosClass::BestEffort || tolerates_memory_pressure(&pod)?) {
            return Ok(Verdict::Admit);
        }
        // As Go prints a list, with the blank at its end.
        Ok(Verdict::reject(REASON, format!("The node had condition: [{}]. ", pressures.join(" "))))
    }
}

/// What a plugin's source brings is never critical, whatever it says of itself.
fn is_critical(pod: &Pod) -> bool {
    let source = pod.source();
    let is_mirror = || pod.annotations().iter().any(|(key, _)| key == MIRROR);
    STATIC.contains(&source.as_str())
        || (source == API && (pod.priority() >= CRITICAL_PRIORITY_MIN || is_mirror()))
}

fn tolerates_memory_pressure(pod: &Pod) -> Result<bool, Error> {
    let taint = Taint {
        key: "node.kubernetes.io/memory-pressure".to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    };
    let tolerations: Vec<Toleration> = pod.at("/spec/tolerations")?.unwrap_or_default();
    Ok(tolerations.iter().any(|toleration| toleration.tolerates(&taint)))
}

export_admission!(NodePressure);

#[cfg(test)]
mod tests;
