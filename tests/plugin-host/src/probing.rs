//! Probe types through the port that the agent asks.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_ports::ProbeError;
use witlet_wasm::plugin::PluginState;
use witlet_wasm::role::Role;

use crate::claims;
use crate::node::{Node, Setting, cache, pod};

claims!(
    a_probe_type_is_its_plugin_s,
    a_type_that_no_one_has_is_reported,
    what_is_not_granted_is_refused_when_it_is_loaded,
    parameters_are_refused_in_the_type_s_words,
    a_type_that_traps_is_left_alone_and_says_so,
    probes_next_to_two_busy_loops_are_answered,
);

/// A node whose probe type `guest` does what its parameters say, with more such entries.
async fn node(more: &str) -> (Node, TempDir) {
    let secrets = TempDir::new().expect("a folder");
    let file = secrets.path().join("password");
    std::fs::write(&file, "hunter2").expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is the test's file");
    let entries = format!(
        "- {{name: guest, component: prober.wasm, probe: {{}}, \
            grants: {{network: [pod], secrets: [password], exec: true}}}}\n{more}\
         secrets:\n- {{name: password, file: {}}}\n",
        file.display()
    );
    let files = vec![("prober.wasm", witlet_test_guests::PROBER.to_vec())];
    let node = Node::begin(&entries, Setting { files, ..Setting::new(crate::node::compiler(cache())) }).await;
    let node = node.expect("the host starts");
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready())
        .await
        .expect("every plugin is tried in time");
    (node, secrets)
}

fn request(probe_type: &str, parameters: &str) -> ProbeRequest {
    ProbeRequest {
        probe_type: probe_type.into(),
        parameters: parameters.into(),
        pod: Arc::new(pod("web")),
        container: "main".to_owned(),
        container_id: ContainerId::from("c0ffee"),
        restarts: 0,
        pod_ips: vec![IpAddr::from([127, 0, 0, 1])],
        host_ips: Vec::new(),
        kind: ProbeKind::Liveness,
        timeout: witlet_harness::WAIT_TIMEOUT,
    }
}

pub(crate) async fn probe(
    node: &Node,
    probe_type: &str,
    parameters: &str,
) -> Result<ProbeOutcome, ProbeError> {
    node.host.probes().probe(&request(probe_type, parameters)).await
}

async fn a_probe_type_is_its_plugin_s() {
    let other = "- {name: other, component: prober.wasm, probe: {type: another-name}, \
                 grants: {secrets: [password], exec: true}}\n";
    let (node, _secrets) = node(other).await;
    for probe_type in ["guest", "another-name"] {
        let outcome = probe(&node, probe_type, r#"{"do": "secret", "text": "password"}"#).await;
        assert_eq!(outcome, Ok(ProbeOutcome::Success("hunter2".to_owned())), "{probe_type}");
    }
    assert_eq!(
        probe(&node, "guest", r#"{"do": "exec", "command": ["true"]}"#).await,
        Ok(ProbeOutcome::Failure("there is no container runtime".to_owned()))
    );
    assert_eq!(
        probe(&node, "guest", r#"{"do": "error", "text": "can't say"}"#).await,
        Err(ProbeError::NotCarriedOut { message: "can't say".to_owned() })
    );
    let status = node.status("guest");
    assert_eq!((status.state, status.probe_type.as_deref()), (PluginState::Ready, Some("guest")));
    assert_eq!(status.roles.len(), 1);
    assert_eq!((status.roles[0].role, status.roles[0].version), (Role::Probe, Some("0.1.0")));
    assert_eq!((status.roles[0].calls, status.roles[0].errors), (3, 1));
    assert!(status.roles[0].memory_bytes_peak > 0 && status.roles[0].cpu_seconds > 0.0);
}

async fn a_type_that_no_one_has_is_reported() {
    let (node, _secrets) = node("- {name: handler, component: no-latest-tag.wasm, admission: {}}\n").await;
    for probe_type in ["guests", "other", "handler", ""] {
        let reported = probe(&node, probe_type, "null").await;
        assert_eq!(reported, Err(ProbeError::UnknownType { probe_type: probe_type.to_owned() }));
    }
}

async fn what_is_not_granted_is_refused_when_it_is_loaded() {
    let (node, _secrets) = node("- {name: bare, component: prober.wasm, probe: {}}\n").await;
    let status = node.status("bare");
    assert_eq!(status.state, PluginState::Failed);
    let detail = status.detail.expect("a reason");
    for capability in ["witlet:host/secret@0.1.0", "witlet:probe/exec@0.1.0"] {
        assert!(detail.contains(capability), "{detail}");
    }
    match probe(&node, "bare", r#"{"do": "succeed"}"#).await {
        Err(ProbeError::NotNow { message }) => assert!(message.contains("witlet:probe/exec"), "{message}"),
        other => panic!("{other:?}"),
    }
}

async fn parameters_are_refused_in_the_type_s_words() {
    let (node, _secrets) = node("").await;
    for _ in 0..3 {
        assert_eq!(
            probe(&node, "guest", r#"{"do": ""}"#).await,
            Err(ProbeError::Parameters { words: "nothing to do".to_owned() })
        );
    }
    let ill_formed = probe(&node, "guest", "[]").await;
    assert!(matches!(ill_formed, Err(ProbeError::Parameters { .. })), "{ill_formed:?}");
    assert_eq!(node.status("guest").state, PluginState::Ready, "it is the pod's fault, not the plugin's");
}

async fn a_type_that_traps_is_left_alone_and_says_so() {
    let (node, _secrets) = node("").await;
    let trap = r#"{"do": "trap"}"#;
    for _ in 0..5 {
        match probe(&node, "guest", trap).await {
            Err(ProbeError::NotCarriedOut { message }) => assert!(message.contains("trapped"), "{message}"),
            other => panic!("{other:?}"),
        }
    }
    for parameters in [trap, r#"{"do": "succeed"}"#] {
        match probe(&node, "guest", parameters).await {
            Err(ProbeError::NotNow { message }) => {
                let words = "probe type guest is quarantined: no calls for another ";
                assert!(message.starts_with(words), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(node.status("guest").state, PluginState::Quarantined);
    assert_eq!(node.events.reasons(), ["PluginQuarantined"]);
}

/// How much later they are is for the benchmarks to say.
async fn probes_next_to_two_busy_loops_are_answered() {
    let more = "- {name: busy, component: prober.wasm, probe: {}, \
                grants: {secrets: [password], exec: true}}\n";
    let (node, _secrets) = node(more).await;
    let probes = node.host.probes();
    let mut loops = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let probes = probes.clone();
        loops.spawn(async move {
            let asked =
                ProbeRequest { timeout: Duration::from_secs(4), ..request("busy", r#"{"do": "loop"}"#) };
            probes.probe(&asked).await
        });
    }
    let mut others = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let probes = probes.clone();
        others.spawn(async move {
            let asked = request("guest", r#"{"do": "sleep", "milliseconds": 100}"#);
            probes.probe(&asked).await
        });
    }
    while let Some(outcome) = others.join_next().await {
        let outcome = outcome.expect("no panic");
        assert_eq!(outcome, Ok(ProbeOutcome::Success(String::new())));
    }
    while let Some(outcome) = loops.join_next().await {
        let outcome = outcome.expect("no panic");
        assert!(matches!(outcome, Err(ProbeError::NotCarriedOut { .. })), "{outcome:?}");
    }
}
