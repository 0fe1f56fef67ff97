//! Upstream's cases (`restart_all_containers_test.go`, `user_namespaces_host_network_test.go`), by their rules.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Container, ContainerKind, Verdict};

use super::{DeclaredFeatures, REASON, RESTART_ALL, USERS_ON_HOST_NETWORK};

fn message(spec: Value, declared: Value) -> String {
    let kinds = [
        ("i", ContainerKind::Init),
        ("s", ContainerKind::Sidecar),
        ("a", ContainerKind::App),
        ("b", ContainerKind::App),
    ];
    let containers =
        kinds.map(|(name, kind)| Container { name: name.to_owned(), kind, image: String::new() });
    let facts = RequestFacts {
        pod: PodFacts {
            manifest: json!({ "spec": spec }),
            containers: containers.into(),
            ..PodFacts::default()
        },
        node: NodeFacts {
            manifest: json!({"status": {"declaredFeatures": declared}}),
            ..NodeFacts::default()
        },
        ..RequestFacts::default()
    };
    match DeclaredFeatures::admit(&facts.request(), &()).expect("a verdict") {
        Verdict::Admit => String::new(),
        Verdict::Reject(rejection) => {
            assert_eq!(rejection.reason, REASON);
            rejection.message.replace("Pod requires node features that are not available: ", "")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pod_is_refused_for_what_the_node_doesnt_declare() {
    let rules = json!([{"action": "Restart"}, {"action": "RestartAllContainers"}]);
    let with = |list: &str, rules: &Value| {
        let mut spec = json!({"initContainers": [{}, {}], "containers": [{}, {}]});
        spec[list][1]["restartPolicyRules"] = rules.clone();
        spec
    };
    let both = format!("{RESTART_ALL}, {USERS_ON_HOST_NETWORK}");
    let mut all = with("containers", &rules);
    all["hostNetwork"] = json!(true);
    all["hostUsers"] = json!(false);
    for (spec, expected) in [
        (json!({}), ""),
        (with("containers", &rules), RESTART_ALL),
        (with("initContainers", &rules), RESTART_ALL),
        (with("containers", &json!([{"action": "Restart"}])), ""),
        (with("containers", &json!([])), ""),
        (json!({"hostNetwork": true, "hostUsers": false}), USERS_ON_HOST_NETWORK),
        (json!({"hostNetwork": true, "hostUsers": true}), ""),
        (json!({"hostNetwork": true}), ""),
        (json!({"hostNetwork": false, "hostUsers": false}), ""),
        (json!({"hostUsers": false}), ""),
        (all, both.as_str()),
    ] {
        assert_eq!(message(spec.clone(), Value::Null), expected, "{spec}");
        assert_eq!(message(spec.clone(), json!(["Other"])), expected, "{spec}");
        let declared = json!([RESTART_ALL, USERS_ON_HOST_NETWORK]);
        assert_eq!(message(spec.clone(), declared), "", "{spec}, where all is declared");
        let one = message(spec.clone(), json!([RESTART_ALL]));
        assert_eq!(one.contains(USERS_ON_HOST_NETWORK), expected.contains(USERS_ON_HOST_NETWORK), "{spec}");
        assert!(!one.contains(RESTART_ALL), "{spec}");
    }
}
