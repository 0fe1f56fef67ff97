//! Every function that the host gives, called where it isn't meant for: on what an earlier call had, on what was given back, and while a
//! plugin is loaded or parameters are checked. The functions are those of the WIT, so that none is left out.

mod guest;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerPort, Pod};
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, Decision, Operation};
use witlet_core::image::{CredentialOrigin, ResolvedImage};
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_core::sources::plugin::{PodNews, PodStatusChange, Snapshot};
use witlet_egress::NetworkGrant;
use witlet_wasm::direct::{DirectHost, DirectOptions};
use witlet_wasm::plugin::config::{Grants, TIMEOUT_MAX, Warm};
use witlet_wasm::plugin::{CallError, LoadError, PluginState};

use crate::admission_v0_2::{ask, rich_request, secrets};
use crate::claims;
use crate::node::{FixedClock, Node, Setting, cache, compiler, pod};
use crate::servers::{Runs, Server};
use guest::{ADMISSION, Called, DATA, POD_SOURCE, PROBE, Role, guest};

claims!(
    every_function_of_admission_is_refused_on_what_an_earlier_question_had,
    every_function_of_probes_is_refused_on_what_an_earlier_probe_had,
    every_function_of_probes_is_refused_while_parameters_are_checked,
    every_function_of_pod_sources_is_refused_on_what_earlier_news_had,
    what_belongs_to_a_call_is_refused_while_a_plugin_is_loaded,
);

/// What a plugin may keep for as long as its instance lives: errors, and its data.
const KEPT_FOR_GOOD: &[&str] = &["error", "snapshot"];

/// Whether a call must fail: it is about a handle that an earlier call had, that was given back, or that the guest never got. What belongs
/// to no call works in each.
fn must_fail(called: &Called) -> bool {
    called.resource.as_deref().is_some_and(|resource| !KEPT_FOR_GOOD.contains(&resource))
}

/// Whether words say that a handle is of a call that is over, of another kind, or of none.
fn is_refusal(words: &str) -> bool {
    ["which is over", "which are over", "unknown handle index", "handle index"]
        .iter()
        .any(|known| words.contains(known))
}

fn place(called: &Called) -> String {
    format!("{} {}", called.interface, called.name)
}

/// Holds how a call ended against how it must.
fn check<T: std::fmt::Debug>(place: &str, must_fail: bool, ended: Result<T, CallError>) {
    match (must_fail, ended) {
        (false, Ok(_)) => {}
        (true, Err(CallError::Trap { message })) if is_refusal(&message) => {}
        (fails, other) => panic!("{place}: must fail: {fails}: {other:?}"),
    }
}

/// A node with the guest, which is kept between calls, once it was tried.
async fn node(guest: Vec<u8>) -> (Node, tempfile::TempDir) {
    let (folder, secrets) = secrets();
    let entry = format!(
        "- {{name: phases, component: phases.wasm, admission: {{}}, instances: {{warm: {{max: 1}}}}, \
         grants: {{secrets: [granted]}}, data: [{{name: {DATA}, file: ./list}}]}}\n"
    );
    let files = vec![("phases.wasm", guest), ("list", b"one".to_vec())];
    let setting = Setting { files, ..Setting::new(compiler(cache())) };
    let node = Node::begin(&format!("{entry}{secrets}"), setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    let status = node.status("phases");
    assert_eq!(status.state, PluginState::Ready, "{:?}", status.detail);
    (node, folder)
}

fn host() -> DirectHost {
    DirectHost::start(compiler(cache()), Arc::new(FixedClock)).expect("the engines start")
}

/// How a guest of this role is run, which keeps its instance between calls.
fn options(role: &Role, config: Value) -> DirectOptions {
    let is_probe = role.name == witlet_wasm::role::Role::Probe;
    let network: Arc<[NetworkGrant]> = if is_probe { [NetworkGrant::Pod].into() } else { [].into() };
    let grants =
        Grants { network, exec: is_probe, secrets: ["granted".to_owned()].into(), ..Grants::default() };
    DirectOptions {
        config,
        grants,
        warm: Some(Warm { max: 1, uses: 10_000, idle: Duration::from_secs(3600) }),
        timeout: TIMEOUT_MAX,
        secrets: [("granted".to_owned(), Arc::from(&b"open sesame"[..]))].into(),
        containers: Some(Arc::new(Runs::BY_NAME)),
        data: [(DATA.to_owned(), b"one".to_vec())].into(),
        ..DirectOptions::default()
    }
}

async fn every_function_of_admission_is_refused_on_what_an_earlier_question_had() {
    let (guest, called) = guest(&ADMISSION, 0);
    let (node, _secrets) = node(guest).await;
    let image = ResolvedImage {
        container: "main".to_owned(),
        id: "sha256:1".to_owned(),
        digest: Some("sha256:2".to_owned()),
        size_bytes: Some(7),
        credentials: Some(CredentialOrigin::Secret),
    };
    let decided = async |name: String| {
        let request = AdmissionRequest {
            operation: Operation::ImageResolved,
            old_pod: None,
            image: Some(Arc::new(image.clone())),
            ..rich_request("default")
        };
        let mut pod = (*request.pod).clone();
        pod.metadata.name = Some(name);
        if let Some(spec) = &mut pod.spec {
            // The first container is the one that has ports and mounts.
            spec.init_containers = None;
        }
        ask(&node, AdmissionRequest { pod: Arc::new(pod), ..request }).await
    };
    assert!(called.len() > 100, "only {} functions", called.len());
    for (number, function) in called.iter().enumerate() {
        let place = place(function);
        assert_eq!(decided("keep".to_owned()).await, Decision::Admit, "before {place}");
        let later = decided(format!("use-{number}")).await;
        match (must_fail(function), later) {
            (false, Decision::Admit) => {}
            (true, Decision::Defer { message, .. }) if is_refusal(&message) => {}
            (fails, other) => panic!("{place}: must fail: {fails}: {other:?}"),
        }
    }
}

/// A probe with these parameters of a container with a port.
fn probing(parameters: &str) -> ProbeRequest {
    let mut pod: Pod = pod("web");
    if let Some(container) = pod.spec.as_mut().and_then(|spec| spec.containers.first_mut()) {
        container.name = "main".to_owned();
        container.ports = Some(vec![ContainerPort { container_port: 80, ..ContainerPort::default() }]);
    }
    ProbeRequest {
        probe_type: "phases".into(),
        parameters: parameters.into(),
        pod: Arc::new(pod),
        container: "main".to_owned(),
        container_id: ContainerId::from("a1"),
        restarts: 0,
        pod_ips: vec![IpAddr::from([127, 0, 0, 1])],
        host_ips: Vec::new(),
        kind: ProbeKind::Liveness,
        timeout: witlet_harness::WAIT_TIMEOUT,
    }
}

async fn every_function_of_probes_is_refused_on_what_an_earlier_probe_had() {
    let server = Server::stuck().await;
    let (guest, called) = guest(&PROBE, server.port());
    let host = host();
    let probes = host.waiting(PROBE.name, guest.into(), options(&PROBE, Value::Null)).await;
    let probes = probes.expect("it is loaded");
    assert!(called.len() > 60, "only {} functions", called.len());
    for (number, function) in called.iter().enumerate() {
        let kept = probes.probe(&probing(r#""keep""#)).await.result;
        assert!(matches!(kept, Ok(ProbeOutcome::Success(_))), "before {}: {kept:?}", place(function));
        let later = probes.probe(&probing(&number.to_string())).await.result;
        check(&place(function), must_fail(function), later);
    }
    // What could be kept for good is gone with an instance that has a connection open.
    let keeps = |called: &Called| called.interface.contains("errors") && called.resource.is_some();
    let number = called.iter().position(keeps).expect("an error has methods");
    for (how, is_gone) in [(r#""keep""#, false), (r#""hold""#, true)] {
        let kept = probes.probe(&probing(how)).await.result;
        assert!(matches!(kept, Ok(ProbeOutcome::Success(_))), "{how}: {kept:?}");
        let later = probes.probe(&probing(&number.to_string())).await.result;
        check(&format!("{} after {how}", place(&called[number])), is_gone, later);
    }
}

async fn every_function_of_probes_is_refused_while_parameters_are_checked() {
    let server = Server::stuck().await;
    let (guest, called) = guest(&PROBE, server.port());
    let host = host();
    let probes = host.waiting(PROBE.name, guest.into(), options(&PROBE, Value::Null)).await;
    let probes = probes.expect("it is loaded");
    for (number, function) in called.iter().enumerate() {
        let kept = probes.probe(&probing(r#""keep""#)).await.result;
        assert!(matches!(kept, Ok(ProbeOutcome::Success(_))), "before {}: {kept:?}", place(function));
        let checked = probes.check_parameters(&number.to_string().into()).await.result;
        let is_its_own = function.resource.as_deref() == Some("check");
        check(&place(function), must_fail(function) && !is_its_own, checked);
    }
}

async fn every_function_of_pod_sources_is_refused_on_what_earlier_news_had() {
    let (guest, called) = guest(&POD_SOURCE, 0);
    let host = host();
    let source = host.waiting(POD_SOURCE.name, guest.into(), options(&POD_SOURCE, Value::Null)).await;
    let source = source.expect("it is loaded");
    let news = || -> Arc<[PodNews]> {
        [PodNews::Status(PodStatusChange {
            namespace: "default".to_owned(),
            name: "web".to_owned(),
            uid: "uid-of-web".to_owned(),
            status: None,
        })]
        .into()
    };
    assert!(called.len() >= 40, "only {} functions", called.len());
    for (number, function) in called.iter().enumerate() {
        let place = place(function);
        assert_eq!(source.notify(news()).await.result.ok(), Some(()), "before {place}");
        let polled = source.poll(Some(&number.to_string())).await.result;
        check(&format!("{place} in a poll"), must_fail(function), polled);
        assert_eq!(source.notify(news()).await.result.ok(), Some(()), "before {place}");
        let taken = source.poll(Some(&format!("n{number}"))).await.result;
        let is_taken = matches!(&taken, Ok(Ok(response)) if response.snapshot == Snapshot::Unchanged);
        assert!(is_taken, "{place}: {taken:?}");
        check(&format!("{place} with later news"), must_fail(function), source.notify(news()).await.result);
    }
}

/// In `validate` a guest has what it says about its configuration, and nothing of any pod.
async fn what_belongs_to_a_call_is_refused_while_a_plugin_is_loaded() {
    let host = host();
    for role in [&ADMISSION, &PROBE, &POD_SOURCE] {
        let (guest, called) = guest(role, 0);
        let guest: Arc<[u8]> = guest.into();
        for (number, function) in called.iter().enumerate() {
            let options = options(role, json!(number));
            let loaded = match role.name {
                witlet_wasm::role::Role::Admission => host.admission(guest.clone(), options).await.err(),
                name => host.waiting(name, guest.clone(), options).await.err(),
            };
            let fails = function.resource.as_deref().is_some_and(|resource| resource != "setup");
            match (fails, loaded) {
                // A refusal in words is an answer, too: there is no operation without a name.
                (false, None | Some(LoadError::Refused { .. })) => {}
                (true, Some(error)) if is_refusal(&words(&error)) => {}
                (fails, other) => panic!("{}: must fail: {fails}: {other:?}", place(function)),
            }
        }
    }
}

/// An error with its causes.
fn words(error: &LoadError) -> String {
    witlet_core::error::one_line(error)
}
