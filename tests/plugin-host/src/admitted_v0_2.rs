//! Handlers of contract 0.2 that are asked about admitted pods: about images of their containers, and about pods that run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, Decision, Operation};
use witlet_core::image::{CredentialOrigin, ResolvedImage};

use crate::admission_v0_2::{ask, entries, node, rejected, rich_request};
use crate::claims;
use crate::node::{Node, pod_in, request};

claims!(
    a_handler_sees_the_image_that_a_container_starts_from,
    a_handler_is_asked_about_running_pods_as_often_as_its_entry_says,
    a_running_pod_is_ended_by_no_failure_of_a_handler,
    a_handler_is_asked_after_a_restart_if_it_subscribes_to_that,
);

async fn a_handler_sees_the_image_that_a_container_starts_from() {
    let (node, _secrets) = node(&entries(&["tell-resolved-image"])).await;
    let name = "tell-resolved-image";
    let reported = async |image: Option<ResolvedImage>| {
        let request = AdmissionRequest {
            operation: Operation::ImageResolved,
            old_pod: None,
            image: image.map(Arc::new),
            ..rich_request(name)
        };
        match node.unsigned(name, ask(&node, request).await) {
            Decision::Reject { reason, message, .. } if reason == "Reported" => {
                serde_json::from_str(&message).unwrap_or_else(|error| panic!("{error}: {message}"))
            }
            other => json!(format!("{other:?}")),
        }
    };
    let image = ResolvedImage {
        container: "side".to_owned(),
        id: "sha256:1".to_owned(),
        digest: Some("sha256:2".to_owned()),
        size_bytes: Some(7),
        credentials: Some(CredentialOrigin::Secret),
    };
    assert_eq!(
        reported(Some(image)).await,
        json!({
            "container": "spec.initContainers[0]", "id": "sha256:1", "digest": "sha256:2", "size": 7,
            "credentials": "secret",
        })
    );
    let unknown = ResolvedImage {
        container: "main".to_owned(),
        id: "x".to_owned(),
        digest: None,
        size_bytes: None,
        credentials: None,
    };
    assert_eq!(
        reported(Some(unknown)).await,
        json!({
            "container": "spec.containers[0]", "id": "x", "digest": null, "size": null, "credentials": null,
        })
    );
    assert_eq!(reported(None).await, Value::Null, "other operations have none");
}

/// An entry with the guest, which is asked about running pods of the namespace of its name.
fn rechecking(name: &str, what: &str, admission: &str) -> String {
    format!(
        "- {{name: {name}, component: v0-2.wasm, admission: {{match: {{namespaces: [{name}]}}{admission}}}, \
         limits: {{timeout: 10s}}, grants: {{secrets: [granted]}}, config: {{do: {what}, subscribe: [recheck]}}}}\n"
    )
}

/// A question about a running pod of this namespace.
fn running(namespace: &str) -> AdmissionRequest {
    AdmissionRequest { operation: Operation::Recheck, ..request(pod_in(namespace, "web")) }
}

/// What becomes of it, once the handler of that name had a thread to be asked on: without one it is as if it had failed.
async fn recheck(node: &Node, name: &str) -> Decision {
    let before = node.status(name).calls();
    let asking = async {
        loop {
            let decision = ask(node, running(name)).await;
            if node.status(name).calls() > before {
                return decision;
            }
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, asking).await.expect("it is asked in time")
}

async fn a_handler_is_asked_about_running_pods_as_often_as_its_entry_says() {
    let often = rechecking("often", "reject", ", recheck: 10m");
    let rarely = rechecking("rarely", "operation", ", recheck: 2h");
    let (with, _secrets) = node(&(often + &rarely + &rechecking("never", "reject", ""))).await;
    let admission = with.host.admission();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let intervals = [("often".into(), minutes(10)), ("rarely".into(), minutes(120))].into();
    assert_eq!(admission.recheck_intervals(), intervals);
    assert!(admission.answers(Operation::Recheck));
    let (reason, message) = ("NotNeeded", "this pod isn't needed");
    assert_eq!(with.unsigned("often", recheck(&with, "often").await), rejected(reason, message));
    assert_eq!(with.unsigned("rarely", recheck(&with, "rarely").await), rejected("Asked", "recheck"));
    assert_eq!(ask(&with, running("never")).await, Decision::Admit);
    let calls = || ["often", "rarely", "never"].map(|name| with.status(name).calls());
    assert_eq!(calls(), [1, 1, 0]);
    // Of those that are due alone, whichever other handlers the pod concerns.
    let rarely = || ["rarely".into()].into();
    assert_eq!(admission.recheck(running("often"), rarely()).await.decision, Decision::Admit);
    assert_eq!(calls(), [1, 1, 0]);
    let (without, _secrets) = node(&rechecking("never", "reject", "")).await;
    let admission = without.host.admission();
    assert!(admission.recheck_intervals().is_empty() && !admission.answers(Operation::Recheck));
}

async fn a_handler_is_asked_after_a_restart_if_it_subscribes_to_that() {
    let readmitting = |name: &str, what: &str, admission: &str| {
        rechecking(name, what, admission).replace("subscribe: [recheck]", "subscribe: [add, readmit]")
    };
    let wants = readmitting("wants", "reject", "");
    let fails = readmitting("fails", "error", ", failurePolicy: Reject");
    let (with, _secrets) = node(&(wants + &fails + &rechecking("other", "reject", ", recheck: 10m"))).await;
    let admission = with.host.admission();
    assert_eq!(admission.readmit_handlers(), ["fails".into(), "wants".into()].into());
    assert!(admission.answers(Operation::Readmit));
    let asked = |name: &'static str| {
        let request = AdmissionRequest { operation: Operation::Readmit, ..running(name) };
        let of_these = admission.recheck(request, [name.into()].into());
        async { of_these.await.decision }
    };
    let rejected = rejected("NotNeeded", "this pod isn't needed");
    assert_eq!(with.unsigned("wants", asked("wants").await), rejected);
    assert_eq!(asked("fails").await, Decision::Admit, "a failure ends no pod that runs");
    assert_eq!(asked("other").await, Decision::Admit);
    assert_eq!(["wants", "fails", "other"].map(|name| with.status(name).calls()), [1, 1, 0]);
}

async fn a_running_pod_is_ended_by_no_failure_of_a_handler() {
    let what = ["nothing", "error", "defer", "shortage"];
    let policy = ", recheck: 10m, failurePolicy: Reject";
    let entries: String = what.iter().map(|what| rechecking(what, what, policy)).collect();
    let (node, _secrets) = node(&entries).await;
    for name in what {
        assert_eq!(recheck(&node, name).await, Decision::Admit, "{name}");
        assert_eq!(node.status(name).calls(), 1, "{name}");
    }
}
