//! Upstream's cases (`eviction_manager_test.go`: `TestAdmitUnderNodeConditions`, and admission in its other stories).

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Condition, QosClass, Verdict};

use super::{NodePressure, REASON};

fn verdict(pod: PodFacts, conditions: &[(&str, &str)]) -> Verdict {
    let conditions = conditions.iter().map(|(kind, status)| Condition {
        kind: (*kind).to_owned(),
        status: (*status).to_owned(),
        reason: String::new(),
        message: String::new(),
    });
    let node = NodeFacts { conditions: conditions.collect(), ..NodeFacts::default() };
    NodePressure::admit(&RequestFacts { pod, node, ..RequestFacts::default() }.request(), &())
        .expect("a verdict")
}

fn pod(qos: QosClass) -> PodFacts {
    PodFacts { source: "api".to_owned(), qos, ..PodFacts::default() }
}

fn refused(conditions: &str) -> Verdict {
    Verdict::reject(REASON, format!("The node had condition: [{conditions}]. "))
}

const CLASSES: [QosClass; 3] = [QosClass::Guaranteed, QosClass::Burstable, QosClass::BestEffort];

#[test]
fn memory_pressure_alone_refuses_best_effort_pods_and_any_other_refuses_all() {
    let memory = ("MemoryPressure", "True");
    let (disk, pid) = (("DiskPressure", "True"), ("PIDPressure", "True"));
    let admit = || Verdict::Admit;
    let all = |text: &str| [refused(text), refused(text), refused(text)];
    let cases = [
        (vec![], [admit(), admit(), admit()]),
        (vec![("MemoryPressure", "False"), ("DiskPressure", "Unknown")], [admit(), admit(), admit()]),
        (vec![("Ready", "True")], [admit(), admit(), admit()]),
        (vec![memory], [admit(), admit(), refused("MemoryPressure")]),
        (vec![memory, disk], all("MemoryPressure DiskPressure")),
        (vec![disk], all("DiskPressure")),
        (vec![pid, disk], all("DiskPressure PIDPressure")),
    ];
    for (conditions, expected) in cases {
        let verdicts = CLASSES.map(|class| verdict(pod(class), &conditions));
        assert_eq!(verdicts, expected, "{conditions:?}");
    }
}

#[test]
fn critical_pods_are_admitted_but_not_those_of_plugins() {
    let disk = [("DiskPressure", "True")];
    let best_effort = |source: &str, priority| PodFacts {
        source: source.to_owned(),
        priority,
        ..pod(QosClass::BestEffort)
    };
    let mirror = PodFacts {
        annotations: vec![("kubernetes.io/config.mirror".to_owned(), "x".to_owned())],
        ..pod(QosClass::BestEffort)
    };
    let cases = [
        (best_effort("api", 2_000_000_000), true),
        (best_effort("api", 1_999_999_999), false),
        (best_effort("file", 0), true),
        (best_effort("http", 0), true),
        (best_effort("compose", 2_000_000_000), false),
        (mirror, true),
    ];
    for (pod, is_admitted) in cases {
        let source = pod.source.clone();
        let expected = if is_admitted { Verdict::Admit } else { refused("DiskPressure") };
        assert_eq!(verdict(pod, &disk), expected, "{source}");
    }
}

#[test]
fn a_best_effort_pod_may_tolerate_memory_pressure_and_nothing_else() {
    let tolerating = |tolerations: Value| PodFacts {
        manifest: json!({"spec": {"tolerations": tolerations}}),
        ..pod(QosClass::BestEffort)
    };
    let key = "node.kubernetes.io/memory-pressure";
    let memory = [("MemoryPressure", "True")];
    let fits = json!([{"key": key, "operator": "Exists", "effect": "NoSchedule"}]);
    assert_eq!(verdict(tolerating(fits.clone()), &memory), Verdict::Admit);
    let other = json!([{"key": key, "operator": "Exists", "effect": "NoExecute"}]);
    assert_eq!(verdict(tolerating(other), &memory), refused("MemoryPressure"));
    assert_eq!(verdict(tolerating(fits), &[("DiskPressure", "True")]), refused("DiskPressure"));
}
