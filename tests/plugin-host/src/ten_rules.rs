//! The ten rules that are measured in CEL and as code say the same.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::Verdict;
use witlet_core::admission::chain::HandlerResponse;
use witlet_wasm::host::HandlerStep;

use crate::claims;
use crate::node::{Node, Setting, cache, compiler, request};

claims!(ten_rules_in_cel_and_as_code_say_the_same);

/// A pod that keeps all rules.
fn good() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
        "spec": {"containers": [
            {"name": "app", "image": "registry.example.com/shop/web:1.2", "env": [{"name": "MODE", "value": "fast"}]},
            {"name": "log", "image": "registry.example.com/log:2.0"},
        ]},
    })
}

/// Pods that break one of the rules each, in their order; a pod breaks an earlier rule first.
fn broken() -> Vec<Value> {
    let with = |pointer: &str, value: Value| {
        let mut pod = good();
        *pod.pointer_mut(pointer).expect("the pod has it") = value;
        pod
    };
    let image = |image: &str| with("/spec/containers/1/image", json!(image));
    let in_spec = |field: &str, value: Value| {
        let mut spec = good()["spec"].clone();
        spec[field] = value;
        with("/spec", spec)
    };
    let container = |field: &str, value: Value| {
        let mut container = good()["spec"]["containers"][1].clone();
        container[field] = value;
        with("/spec/containers/1", container)
    };
    let many = (0..11).map(|index| json!({"name": format!("c{index}"), "image": "registry.example.com/a:1"}));
    vec![
        with("/metadata/namespace", json!("kube-system")),
        in_spec("containers", many.collect()),
        image("elsewhere.example.com/a:1"),
        image("registry.example.com/a:latest"),
        image("registry.example.com/a:1b"),
        in_spec("hostNetwork", json!(true)),
        container("securityContext", json!({"privileged": true})),
        in_spec("volumes", json!([{"name": "v", "hostPath": {"path": "/var"}}])),
        container("name", json!("app")),
        container("env", json!([{"name": "DB_PASSWORD", "value": "x"}])),
    ]
}

async fn ten_rules_in_cel_and_as_code_say_the_same() {
    let rules = witlet_test_guests::TEN_RULES.iter().enumerate();
    let rules: Vec<Value> =
        rules.map(|(index, rule)| json!({"expression": rule, "message": format!("rule {index}")})).collect();
    let matches = "admission: {match: {systemPods: true}}";
    let entries = format!(
        "- {{name: cel, component: builtin:cel, {matches}, config: {}}}\n\
         - {{name: code, component: ten-rules.wasm, {matches}, config: {{}}}}\n",
        json!({"validations": rules}),
    );
    let cel = witlet_plugins::SHIPPED.iter().filter(|shipped| shipped.name == "cel");
    let shipped = cel.map(|shipped| (shipped.name, shipped.component)).collect();
    let files = vec![("ten-rules.wasm", witlet_test_guests::TEN_RULES_GUEST.to_vec())];
    let node = Node::trial(&entries, Setting { shipped, files, ..Setting::new(compiler(cache())) }).await;
    let expected = [None].into_iter().chain((0..10).map(Some));
    for (pod, expected) in [good()].into_iter().chain(broken()).zip(expected) {
        let manifest: Pod = serde_json::from_value(pod.clone()).expect("it is a pod");
        let explained = node.host.explain(request(manifest), true).await;
        assert_eq!(explained.handlers.len(), 2, "{explained:?}");
        for report in &explained.handlers {
            let HandlerStep::Answered(answer) = &report.step else { panic!("{pod}: {report:?}") };
            match (&answer.response, expected) {
                (HandlerResponse::Verdict(Verdict::Admit), None) => {}
                (HandlerResponse::Verdict(Verdict::Reject { message, .. }), Some(rule)) => {
                    let words = message.split(" (").next();
                    assert_eq!(words, Some(&*format!("rule {rule}")), "{} of {pod}", report.name);
                }
                (other, _) => panic!("{} of {pod}: {other:?}", report.name),
            }
        }
    }
}
