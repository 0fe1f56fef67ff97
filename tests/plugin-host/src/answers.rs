//! What plugins answer, and what becomes of it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, Decision, Operation};
use witlet_core::pod::SourceName;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, configuration, hostile, pod, pod_in, request};

claims!(
    a_verdict_decides,
    the_first_refusal_in_order_decides,
    a_shortage_lets_the_later_handlers_speak,
    pods_in_other_namespaces_are_not_asked_about,
    only_shipped_handlers_and_entries_that_opt_in_are_asked_about_system_pods,
    an_excluded_pod_is_not_asked_about,
    a_plugin_with_a_configuration_of_its_own_refuses_by_it,
    a_guest_sees_nothing_of_the_node_and_the_same_thing_each_time,
    http_links_and_is_denied,
    the_built_ins_admit_a_modest_pod,
    a_log_flood_is_cut_and_harmless,
    decisions_are_logged_while_the_configuration_wants_it,
);

fn reject(reason: &str, message: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: message.to_owned(), handler: None }
}

async fn a_verdict_decides() {
    let defer = Decision::Defer {
        reason: "NotNow".to_owned(),
        message: "not now".to_owned(),
        retry_after: Duration::from_secs(5),
    };
    let shortage = Decision::Reject {
        reason: "OutOfcpu".to_owned(),
        message: "Node didn't have enough resource: cpu, requested: 500, used: 800, capacity: 1000"
            .to_owned(),
        handler: None,
    };
    let cases = [
        ("admit", Decision::Admit),
        ("reject", reject("NotNeeded", "this pod isn't needed")),
        ("defer", defer),
        ("shortage", shortage),
    ];
    for (behaviour, expected) in cases {
        let node = Node::with(&hostile("only", behaviour, "")).await;
        let decision = match behaviour {
            "admit" => node.admit(pod("web")).await,
            _ => node.refused_by("only", pod("web")).await,
        };
        assert_eq!(decision, expected, "{behaviour}");
    }
}

async fn the_first_refusal_in_order_decides() {
    let entries = hostile("second", "reject", "order: 2") + &hostile("first", "defer", "order: 1");
    let node = Node::with(&entries).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Defer { .. }));
    let names: Vec<String> = node.host.list().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["first", "second"]);
}

/// Others may be ended for it.
fn critical(name: &str) -> Pod {
    let mut critical = pod(name);
    if let Some(spec) = &mut critical.spec {
        spec.priority = Some(2_000_000_000);
    }
    critical
}

async fn a_shortage_lets_the_later_handlers_speak() {
    let entries = hostile("full", "shortage", "order: 1, match: {systemPods: true}")
        + &hostile("strict", "reject", "order: 2, match: {systemPods: true}");
    let node = Node::with(&entries).await;
    let decision = node.refused_by("strict", critical("web")).await;
    assert_eq!(decision, reject("NotNeeded", "this pod isn't needed"));
    match node.admit(pod("web")).await {
        Decision::Reject { reason, .. } => assert_eq!(reason, "OutOfcpu", "the first refusal is reported"),
        other => panic!("{other:?}"),
    }
}

async fn pods_in_other_namespaces_are_not_asked_about() {
    let entries = hostile("strict", "reject", "match: {namespaces: [\"team-*\", prod]}");
    let node = Node::with(&entries).await;
    assert_eq!(node.admit(pod_in("default", "web")).await, Decision::Admit);
    assert_eq!(node.status("strict").calls(), 0);
    for namespace in ["team-a", "prod"] {
        assert!(matches!(node.admit(pod_in(namespace, "web")).await, Decision::Reject { .. }), "{namespace}");
    }
}

async fn only_shipped_handlers_and_entries_that_opt_in_are_asked_about_system_pods() {
    let affinity = witlet_plugins::ADMISSION
        .iter()
        .find(|builtin| builtin.name == "node-affinity")
        .expect("it is shipped");
    let mut picky = pod("picky");
    if let Some(spec) = &mut picky.spec {
        spec.node_selector = Some([("disk".to_owned(), "fast".to_owned())].into());
    }
    let refused = reject("NotNeeded", "this pod isn't needed");
    // The entry's match, whether the node has an API server, and what becomes of a static pod, of one of kube-system and of one of
    // the API server.
    let cases = [
        ("", true, [false, false, true]),
        ("match: {systemPods: true}", true, [true, true, true]),
        ("", false, [true, false, true]),
    ];
    for (matches, in_cluster, is_refused) in cases {
        let setting = Setting {
            builtins: vec![crate::node::builtin(affinity.name, affinity.component)],
            in_cluster,
            ..Setting::new(crate::node::compiler(crate::node::cache()))
        };
        let node =
            Node::begin(&hostile("strict", "reject", matches), setting).await.expect("the host starts");
        node.until("it is there", |node| node.status("strict").state == PluginState::Ready).await;
        let of_api = |pod: Pod| AdmissionRequest { source: SourceName::from("api"), ..request(pod) };
        let asked = [request(pod("static")), of_api(pod_in("kube-system", "dns")), of_api(pod("web"))];
        for (asked, is_refused) in asked.into_iter().zip(is_refused) {
            let what = format!("{:?} {matches} in a cluster: {in_cluster}", asked.pod.metadata.name);
            let decision = node.host.admission().admit(asked).await;
            if is_refused {
                assert_eq!(node.unsigned("strict", decision), refused, "{what}");
            } else {
                assert_eq!(decision, Decision::Admit, "{what}");
            }
        }
        let decision = node.admit(picky.clone()).await;
        assert!(
            matches!(&decision, Decision::Reject { reason, message, handler: None } if reason == "NodeAffinity" && !message.contains("sha256")),
            "the shipped handler is asked about a static pod, and speaks as a kubelet: {decision:?}"
        );
    }
}

async fn an_excluded_pod_is_not_asked_about() {
    let matches = "match: {operations: [add], exclude: [{namespaces: [sandbox]}, {images: [\"registry.example.com/app:1.2\"]}]}";
    let node = Node::with(&hostile("strict", "reject", matches)).await;
    let of = |namespace: &str, image: &str| {
        let mut pod = pod_in(namespace, "web");
        if let Some(spec) = &mut pod.spec {
            spec.containers[0].image = Some(image.to_owned());
        }
        pod
    };
    assert_eq!(node.admit(of("sandbox", "nginx")).await, Decision::Admit);
    assert_eq!(node.admit(of("default", "registry.example.com/app:1.2")).await, Decision::Admit);
    let resize = AdmissionRequest { operation: Operation::Resize, ..request(of("default", "nginx")) };
    assert_eq!(node.host.admission().admit(resize).await, Decision::Admit);
    assert_eq!(node.status("strict").calls(), 0);
    assert!(matches!(node.admit(of("default", "nginx")).await, Decision::Reject { .. }));
}

async fn a_plugin_with_a_configuration_of_its_own_refuses_by_it() {
    let entry = "- {name: no-latest-tag, component: no-latest-tag.wasm, admission: {}, \
                 limits: {timeout: 10s}, config: {allowedRegistries: [registry.example.com]}}\n";
    let node = Node::with(entry).await;
    assert_eq!(node.admit(pod("pinned")).await, Decision::Admit);
    let mut latest = pod("latest");
    if let Some(spec) = &mut latest.spec {
        spec.containers[0].image = Some("registry.example.com/app:latest".to_owned());
    }
    match node.admit(latest).await {
        Decision::Reject { reason, .. } => assert_eq!(reason, "LatestTag"),
        other => panic!("{other:?}"),
    }
}

async fn a_guest_sees_nothing_of_the_node_and_the_same_thing_each_time() {
    let fresh = Node::with(&hostile("curious", "explore", "")).await;
    let warm = Node::with(
        "- {name: curious, component: hostile.wasm, admission: {}, instances: {warm: {max: 1}}, \
         limits: {timeout: 10s}, config: explore}\n",
    )
    .await;
    let first = fresh.admit(pod("web")).await;
    let Decision::Reject { message, .. } = &first else { panic!("{first:?}") };
    for seen in [
        "env=0 ",
        "time=1767323045.678000000 elapsed=0ns ",
        "file=Err(",
        "connect=Err(PermissionDenied)",
        "lookup=false",
    ] {
        assert!(message.contains(seen), "{seen} isn't in {message}");
    }
    for node in [&fresh, &warm] {
        assert_eq!(node.admit(pod("web")).await, first, "the same question gets the same answer");
    }
    // Rust's hash maps count up from their first random number, so that alone differs in a used instance.
    let again = warm.admit(pod("web")).await;
    let Decision::Reject { message: again, .. } = &again else { panic!("{again:?}") };
    assert_eq!(
        again.split_once(" random="),
        message.split_once(" random=").map(|(seen, _)| (seen, again.rsplit('=').next().unwrap_or_default()))
    );
    assert_ne!(fresh.admit(pod("other")).await, first, "random numbers follow from the pod's UID");
}

async fn http_links_and_is_denied() {
    let node = Node::with(&hostile("chatty", "http", "")).await;
    assert_eq!(node.refused_by("chatty", pod("web")).await, reject("Http", "set=false denied"));
}

async fn the_built_ins_admit_a_modest_pod() {
    let builtins: Vec<_> = witlet_plugins::ADMISSION
        .iter()
        .map(|builtin| crate::node::builtin(builtin.name, builtin.component))
        .collect();
    let compiler = crate::node::compiler(crate::node::cache());
    let entry = hostile("last", "admit", "match: {systemPods: true}");
    let node = Node::start(&entry, &builtins, compiler).await.expect("the host starts");
    let names: Vec<String> = node.host.list().into_iter().map(|status| status.name).collect();
    let mut expected: Vec<&str> = builtins.iter().map(|builtin| builtin.name).collect();
    expected.push("last");
    assert_eq!(names, expected, "built-ins come first");
    // An empty node has capacity for no pod at all.
    match node.admit(critical("web")).await {
        Decision::Reject { reason, .. } => assert_eq!(reason, "UnexpectedAdmissionError"),
        other => panic!("{other:?}"),
    }
    for status in node.host.list() {
        assert_eq!((status.calls(), status.errors()), (1, 0), "{}", status.name);
    }
    // About pods that run none of them is ever asked.
    let admission = node.host.admission();
    let mut running = Operation::ALL.into_iter().filter(|operation| operation.is_of_running_pod());
    assert!(running.all(|operation| !admission.answers(operation)));
    assert!(admission.readmit_handlers().is_empty() && admission.recheck_intervals().is_empty());
    // Taking the name of a built-in is refused.
    node.configure(&configuration(&hostile("host-ports", "admit", "")));
    node.until("the file is refused", |node| node.host.file_error().is_some()).await;
    let error = node.host.file_error().unwrap_or_default();
    assert!(error.contains("plugins[0].name: host-ports is the name of a built-in plugin"), "{error}");
}

async fn a_log_flood_is_cut_and_harmless() {
    let slow = "- {name: loud, component: hostile.wasm, admission: {}, limits: {timeout: 10s}, config: ";
    for behaviour in ["log-flood", "stdout-flood"] {
        let node = Node::with(&format!("{slow}{behaviour}}}\n")).await;
        assert_eq!(node.admit(pod("web")).await, Decision::Admit, "{behaviour}");
    }
}

async fn decisions_are_logged_while_the_configuration_wants_it() {
    let entry = hostile("strict", "reject", "match: {namespaces: [strict]}");
    let node = Node::with(&entry).await;
    let path = node.folder.path().join("decisions/decisions.jsonl");
    let lines = || std::fs::read_to_string(&path).unwrap_or_default();
    node.admit(pod_in("strict", "before")).await;
    node.configure(&configuration(&entry).replace("plugins:", "decisionLog: true\nplugins:"));
    // Asked again and again, because nothing else shows that the file was taken.
    while lines().is_empty() {
        node.admit(pod_in("strict", "web")).await;
    }
    node.admit(pod("other")).await;
    node.until("both are logged", |_| lines().contains("\"other\"")).await;
    let text = lines();
    assert!(!text.contains("\"before\""), "nothing is logged before it is enabled: {text}");
    let first: Value = serde_json::from_str(text.lines().next().unwrap_or_default()).expect("it is JSON");
    let seen = (&first["name"], &first["decision"], &first["reason"], &first["plugin"]);
    assert_eq!(seen, (&json!("web"), &json!("reject"), &json!("NotNeeded"), &json!("strict")));
    assert_eq!(first["digest"].as_str(), node.status("strict").digest.as_deref());
    let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).expect("it is JSON");
    assert_eq!(
        (&last["decision"], &last["plugin"]),
        (&json!("admit"), &Value::Null),
        "all handlers admitted it"
    );
}
