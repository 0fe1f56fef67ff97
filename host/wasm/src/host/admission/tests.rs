//! Pods that wait for a handler which is being loaded, and who is said to have refused one.

use std::path::Path;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::verdicts::HandlerOutcome;
use witlet_core::event::Event;
use witlet_core::pod::SourceName;
use witlet_ports::{Clock, ComponentFetcher, ComponentReference, EventSink, FetchError, Reports};

use super::*;
use crate::compile::CompilerConfig;
use crate::host::{DataConfig, PluginHost, PluginHostConfig};

/// Never brings a component.
struct Stuck;

#[async_trait]
impl ComponentFetcher for Stuck {
    async fn fetch(
        &self,
        _reference: &ComponentReference,
        _credentials: Option<&Path>,
    ) -> Result<Arc<[u8]>, FetchError> {
        std::future::pending().await
    }

    async fn reports(
        &self,
        _reference: &ComponentReference,
        _credentials: Option<&Path>,
        _which: Reports,
    ) -> Result<Vec<Vec<u8>>, FetchError> {
        std::future::pending().await
    }
}

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

struct NoEvents;

impl EventSink for NoEvents {
    fn record(&self, _event: Event) {}
}

/// A host whose only handler has this role and is being loaded for ever.
async fn host(folder: &Path, role: &str) -> Arc<PluginHost> {
    let digest = "0".repeat(64);
    let file = folder.join("plugins.yaml");
    let text = format!(
        "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n- {{name: slow, \
         component: 'oci://registry.example.com/slow@sha256:{digest}', admission: {{{role}}}}}\n"
    );
    std::fs::write(&file, text).expect("the test's folder is writable");
    let started = PluginHost::start(PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler: CompilerConfig::new(folder.join("code")),
        plugins_file: Some(file),
        builtins: Vec::new(),
        shipped: Vec::new(),
        fetcher: Some(Arc::new(Stuck)),
        containers: None,
        state_folder: None,
        last_good_folder: None,
        data: DataConfig::default(),
        decision_log_folder: None,
        in_cluster: false,
        node: None,
        recorder: None,
        clock: Arc::new(Epoch),
        events: Arc::new(NoEvents),
    });
    started.await.expect("no plugin keeps the host from starting")
}

fn request() -> AdmissionRequest {
    AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(Pod::default()),
        old_pod: None,
        image: None,
        source: SourceName::file(),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    }
}

/// What the pod gets, in a word.
async fn word(admission: &dyn Admission) -> String {
    match admission.admit(request()).await {
        Decision::Admit => "admit".to_owned(),
        Decision::Reject { reason, .. } => format!("reject {reason}"),
        Decision::Defer { reason, .. } => format!("defer {reason}"),
        Decision::Preempt { .. } => "preempt".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn pods_wait_for_a_load_until_its_time_is_over_and_then_the_policy_holds() {
    let cases = [
        ("failurePolicy: Reject", 10, "reject UnexpectedAdmissionError"),
        ("failurePolicy: Admit", 10, "admit"),
        ("failurePolicy: Defer", 10, "defer HandlerNotLoaded"),
        ("failurePolicy: Admit, loadTimeout: 3s", 3, "admit"),
        ("failurePolicy: Reject, loadTimeout: 2m", 120, "reject UnexpectedAdmissionError"),
    ];
    for (role, seconds, expected) in cases {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let host = host(folder.path(), role).await;
        let admission = host.admission();
        let mut generation = admission.generation();
        assert_eq!(word(&*admission).await, "defer HandlerNotLoaded", "{role}: whatever the policy is");
        tokio::time::sleep(Duration::from_secs(seconds - 1)).await;
        assert_eq!(word(&*admission).await, "defer HandlerNotLoaded", "{role}: it may still come");
        let notified = tokio::time::timeout(Duration::from_secs(3), generation.changed()).await;
        assert!(matches!(notified, Ok(Ok(()))), "{role}: pods that wait are asked about again");
        assert_eq!(word(&*admission).await, expected, "{role}");
        let again = tokio::time::timeout(Duration::from_secs(30), generation.changed()).await;
        assert!(again.is_err(), "{role}: once is enough");
    }
}

#[test]
fn a_refusal_names_the_plugin_behind_its_own_words() {
    let reject = |message: &str| {
        let message = message.to_owned();
        Verdict::Reject { reason: "NotNeeded".to_owned(), message }
    };
    let defer = |message: &str| Verdict::Defer {
        reason: "NotNow".to_owned(),
        message: message.to_owned(),
        retry_after: Duration::from_secs(7),
    };
    let shortage = Verdict::Shortage(Vec::new());
    let cases = [
        (reject("no team"), reject("no team (plugin a, sha256:0123)")),
        (reject(""), reject("(plugin a, sha256:0123)")),
        (defer("later"), defer("later (plugin a, sha256:0123)")),
        (Verdict::Admit, Verdict::Admit),
        (shortage.clone(), shortage),
    ];
    for (verdict, expected) in cases {
        assert_eq!(attributed(verdict.clone(), None), verdict, "a shipped handler speaks as a kubelet");
        assert_eq!(attributed(verdict, Some("plugin a, sha256:0123".to_owned())), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_that_may_take_no_time_holds_no_pod() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let host = host(folder.path(), "failurePolicy: Admit, loadTimeout: 0s").await;
    assert_eq!(word(&*host.admission()).await, "admit");
}

#[tokio::test(start_paused = true)]
async fn a_decision_comes_with_what_each_handler_answered() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let host = host(folder.path(), "failurePolicy: Admit, loadTimeout: 0s").await;
    let AdmissionResult { decision, verdicts } = host.admission().admit_with_verdicts(request()).await;
    assert_eq!(decision, Decision::Admit);
    let [verdict] = &verdicts[..] else { panic!("one handler was asked: {verdicts:?}") };
    assert_eq!((&*verdict.handler, verdict.outcome), ("slow", HandlerOutcome::Failed));
    assert_eq!(
        (verdict.reason.as_deref(), verdict.policy),
        (Some("HandlerNotLoaded"), Some(FailurePolicy::Admit))
    );
    assert_eq!((verdict.digest.as_ref(), verdict.asked_at), (None, Timestamp::UNIX_EPOCH));
}
