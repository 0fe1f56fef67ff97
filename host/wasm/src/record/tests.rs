//! What is written of calls, and what isn't.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation, Shortage, Verdict};
use witlet_core::image::{CredentialOrigin, ResolvedImage};
use witlet_core::node::NodeFacts;
use witlet_core::node::observed::ObservedNode;
use witlet_core::pod::SourceName;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_core::sources::plugin::{PollResponse, Snapshot};
use witlet_ports::Clock;

use super::*;
use crate::plugin::CallError;
use crate::worlds::admission::facts::RequestFacts;

/// Only a failure waits this long.
const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn pod(name: &str) -> Arc<Pod> {
    let pod = json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {
            "runtimeClassName": "kata",
            "containers": [{"name": "app", "image": "app:1", "env": [{"name": "E", "value": "let me in"}]}],
        },
    });
    Arc::new(serde_json::from_value(pod).expect("a pod"))
}

/// On a node with these runtime classes.
fn request_with<'a>(classes: impl Iterator<Item = &'a str>) -> AdmissionRequest {
    let node = NodeFacts {
        name: "node".to_owned(),
        addresses: vec!["10.0.0.7".parse().expect("an address")],
        facts: [("cgroup.version".to_owned(), "2".to_owned())].into(),
        devices: "[]".to_owned(),
        observed: ObservedNode {
            used: Arc::new([("memory".to_owned(), 7)].into()),
            runtime_classes: Arc::new(
                classes.map(|name| (name.to_owned(), format!("{name}-qemu"))).collect(),
            ),
        },
        ..NodeFacts::default()
    };
    AdmissionRequest {
        operation: Operation::Resize,
        now: "2026-01-02T03:04:05.000000006Z".parse().expect("a time"),
        pod: pod("web"),
        old_pod: Some(pod("web-as-it-runs")),
        image: Some(Arc::new(ResolvedImage {
            container: "app".to_owned(),
            id: "sha256:1".to_owned(),
            digest: Some("sha256:2".to_owned()),
            size_bytes: None,
            credentials: Some(CredentialOrigin::Node),
        })),
        source: SourceName::file(),
        node: Arc::new(node),
        other_pods: [AdmittedPod { pod: pod("other"), source: SourceName::from("compose") }].into(),
    }
}

fn request() -> AdmissionRequest {
    request_with(["kata", "unused"].into_iter())
}

fn about(max: usize, secret: &'static str) -> About {
    About {
        on: [].into(),
        plugin: "p".into(),
        max,
        component: "/plugins/p.wasm".to_owned(),
        digest: "0".repeat(64),
        config: r#"{"allow": ["x"]}"#.into(),
        data: Arc::default(),
        timeout: Duration::from_millis(100),
        memory_bytes: 16 << 20,
        grants: vec!["exec".to_owned()],
        secrets: Arc::new(move || vec![("password".to_owned(), secret.as_bytes().into())]),
    }
}

struct World {
    folder: tempfile::TempDir,
    recorder: Recorder,
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let recorder = Recorder::start(RecorderConfig {
            folder: folder.path().join("recorded"),
            clock: Arc::new(Epoch),
        });
        Self { folder, recorder }
    }

    fn records(&self) -> Vec<PathBuf> {
        let listed = std::fs::read_dir(self.folder.path().join("recorded/p"));
        let files = listed.into_iter().flatten().map(|file| file.expect("a file").path());
        let mut whole: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
        whole.sort();
        whole
    }

    /// Waits until the newest record's name has this in it.
    async fn newest(&self, part: &str) -> PathBuf {
        let found = async {
            loop {
                let newest = self.records().pop().filter(|path| path.to_string_lossy().contains(part));
                if let Some(path) = newest {
                    return path;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, found).await.expect("written in time")
    }
}

#[tokio::test]
async fn a_question_comes_back_as_it_was_asked() {
    let world = World::start();
    let recorder = world.recorder.plugin(about(10, "no such text"));
    let facts = Arc::new(RequestFacts::new(request()));
    let verdict = Verdict::Reject { reason: "No".to_owned(), message: "never".to_owned() };
    recorder.admission(&facts, &Ok(verdict), Duration::from_micros(30));
    let path = world.newest("admission").await;
    let call = read(&path).expect("read");
    assert_eq!(
        (call.plugin.as_str(), call.took_nanoseconds, &call.config),
        ("p", 30_000, &json!({"allow": ["x"]}))
    );
    assert_eq!(call.limits, Limits { timeout_milliseconds: 100, memory_bytes: 16 << 20 });
    assert_eq!(
        call.answer,
        RecordedResponse::Reject { reason: "No".to_owned(), message: "never".to_owned() }
    );
    let RecordedRequest::Admission(asked) = &call.question else { panic!("another role: {call:?}") };
    // Of runtime classes those that the pods name.
    let (asked, original) = (asked.request(), request_with(["kata"].into_iter()));
    assert_eq!(
        (asked.operation, asked.now, &asked.pod, &asked.old_pod, &asked.source),
        (original.operation, original.now, &original.pod, &original.old_pod, &original.source)
    );
    assert_eq!((&asked.image, &asked.node), (&original.image, &original.node));
    assert_eq!(asked.other_pods.len(), 1);
    assert_eq!(
        (&asked.other_pods[0].pod, &asked.other_pods[0].source),
        (&original.other_pods[0].pod, &original.other_pods[0].source)
    );
    let mut earlier: Value = serde_json::to_value(&call.question).expect("JSON");
    for added in ["oldPod", "image"] {
        earlier.as_object_mut().expect("an object").remove(added).expect("it has it");
    }
    for added in ["used", "runtimeClasses"] {
        earlier["node"].as_object_mut().expect("an object").remove(added).expect("it has it");
    }
    let earlier: RecordedRequest = serde_json::from_value(earlier).expect("one of an earlier build");
    let RecordedRequest::Admission(asked) = &earlier else { panic!("another role: {earlier:?}") };
    assert_eq!((asked.request().old_pod, asked.request().image), (None, None));
    assert_eq!(asked.request().node.observed, ObservedNode::default());
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
}

#[tokio::test]
async fn a_probe_comes_back_with_its_commands_and_a_poll_with_its_cursor() {
    let world = World::start();
    let recorder = world.recorder.plugin(about(10, "no such text"));
    let request = ProbeRequest {
        probe_type: "exec".into(),
        parameters: r#"{"command": ["true"]}"#.into(),
        pod: pod("web"),
        container: "app".to_owned(),
        container_id: ContainerId::from("c1"),
        restarts: 2,
        pod_ips: vec!["10.1.0.1".parse().expect("an address")],
        host_ips: vec![],
        kind: ProbeKind::Readiness,
        timeout: Duration::from_secs(1),
    };
    let exec = ExecRecord {
        command: vec!["true".to_owned()],
        output: Some("fine".to_owned()),
        exit_code: Some(0),
        error: None,
    };
    let outcome = Ok(ProbeOutcome::Warning("almost".to_owned()));
    recorder.probe(&request, vec![exec.clone()], &outcome, Duration::from_millis(3));
    let call = read(&world.newest("probe").await).expect("read");
    assert_eq!(call.answer, RecordedResponse::Warning { detail: "almost".to_owned() });
    let RecordedRequest::Probe(question) = &call.question else { panic!("another role: {call:?}") };
    assert_eq!(question.execs, [exec]);
    let asked = question.request().expect("it makes sense");
    assert_eq!(
        (asked.container_id, asked.kind, asked.timeout, asked.pod_ips, asked.restarts),
        (request.container_id, request.kind, request.timeout, request.pod_ips, 2)
    );
    let answer = PollResponse {
        snapshot: Snapshot::Pods(vec!["a pod".to_owned()]),
        cursor: Some("2".to_owned()),
        next_poll: None,
    };
    recorder.poll(Some("1"), &Ok(Ok(answer)), Duration::ZERO);
    let call = read(&world.newest("podSource").await).expect("read");
    assert_eq!(
        call.question,
        RecordedRequest::PodSource(RecordedPollRequest { cursor: Some("1".to_owned()) })
    );
    let expected =
        RecordedResponse::Pods { manifests: vec!["a pod".to_owned()], cursor: Some("2".to_owned()) };
    assert_eq!(call.answer, expected);
}

#[tokio::test]
async fn no_secret_is_written() {
    let world = World::start();
    // It stands in a pod, and the plugin tells it.
    let recorder = world.recorder.plugin(about(10, "let me in\n"));
    let facts = Arc::new(RequestFacts::new(request()));
    let error = CallError::Refused { words: "AUTH let me in failed".to_owned() };
    recorder.admission(&facts, &Err(error), Duration::ZERO);
    let path = world.newest("admission").await;
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(!text.contains("let me in"), "{text}");
    let RecordedResponse::Failed { outcome, message } = read(&path).expect("still a recorded call").answer
    else {
        panic!("it failed: {text}")
    };
    assert_eq!((outcome.as_str(), message.as_str()), ("error", "AUTH [secret password] failed"));
}

#[test]
fn secrets_are_found_in_all_texts_and_short_ones_are_left() {
    let secrets = |values: &[(&str, &[u8])]| -> Vec<(String, Arc<[u8]>)> {
        values.iter().map(|(name, value)| ((*name).to_owned(), Arc::from(*value))).collect()
    };
    let scrubbed = |mut value: Value, values: &[(&str, &[u8])]| {
        scrub::scrub(&mut value, &secrets(values));
        value
    };
    assert_eq!(
        scrubbed(json!({"a": ["x-hunter2-x", {"hunter2": 7}], "b": null}), &[("pw", b"hunter2")]),
        json!({"a": ["x-[secret pw]-x", {"[secret pw]": 7}], "b": null})
    );
    // A part of another one, whichever is named first.
    let both: [(&str, &[u8]); 2] = [("short", b"hunter"), ("long", b"hunter2")];
    assert_eq!(scrubbed(json!("hunter2 hunter"), &both), json!("[secret long] [secret short]"));
    // In JSON that is a text itself.
    let quoted = json!({"password": "a\"b\\c"}).to_string();
    assert_eq!(scrubbed(json!(quoted), &[("pw", b"a\"b\\c")]), json!(r#"{"password":"[secret pw]"}"#));
    // Neither empty ones, nor those that stand everywhere, nor bytes that are no text.
    assert_eq!(scrubbed(json!("abc"), &[("e", b""), ("s", b"b"), ("x", b"\xff\xfe\xfd\xfc")]), json!("abc"));
}

#[tokio::test]
async fn only_the_newest_calls_are_kept() {
    let world = World::start();
    let recorder = world.recorder.plugin(about(3, "no such text"));
    let facts = Arc::new(RequestFacts::new(request()));
    for serial in 1..=7 {
        recorder.admission(&facts, &Ok(Verdict::Admit), Duration::ZERO);
        world.newest(&format!("-{serial:06}-")).await;
        assert!(world.records().len() <= 3);
    }
    // What a crash left behind goes, too.
    let half = world.folder.path().join("recorded/p/x.json.part");
    std::fs::write(&half, "{").expect("written");
    recorder.admission(&facts, &Ok(Verdict::Admit), Duration::ZERO);
    world.newest("-000008-").await;
    assert!(!half.exists());
    let names: Vec<_> = world
        .records()
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, [6, 7, 8].map(|serial| format!("19700101T000000.000000Z-{serial:06}-admission.json")));
}

#[tokio::test]
async fn a_call_never_waits_for_the_writer() {
    let world = World::start();
    let recorder = world.recorder.plugin(about(1000, "no such text"));
    let facts = Arc::new(RequestFacts::new(request()));
    // Nothing is written meanwhile: this thread is the runtime's only one, and doesn't give way.
    for _ in 0..QUEUE_MAX + 5 {
        recorder.admission(&facts, &Ok(Verdict::Admit), Duration::ZERO);
    }
    assert_eq!(world.recorder.dropped(), 5);
    world.newest(&format!("-{QUEUE_MAX:06}-")).await;
    assert_eq!(world.records().len(), QUEUE_MAX);
}

#[test]
fn failures_are_compared_by_their_kind_and_answers_by_all_they_say() {
    let failed = |outcome: &str, message: &str| RecordedResponse::Failed {
        outcome: outcome.to_owned(),
        message: message.to_owned(),
    };
    assert!(failed("trapped", "a").agrees_with(&failed("trapped", "b")));
    assert!(!failed("trapped", "a").agrees_with(&failed("timed_out", "a")));
    assert!(!failed("trapped", "a").agrees_with(&RecordedResponse::Admit));
    let shortage = |used| {
        let shortage = Shortage { resource: "cpu".to_owned(), requested: 1, used, capacity: 3 };
        RecordedResponse::of_verdict(&Ok(Verdict::Shortage(vec![shortage])))
    };
    assert!(shortage(2).agrees_with(&shortage(2)));
    assert!(!shortage(2).agrees_with(&shortage(3)));
}

#[test]
fn what_is_no_recorded_call_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("call.json");
    let refused = |text: &[u8]| {
        std::fs::write(&path, text).expect("written");
        read(&path).expect_err("refused")
    };
    assert!(matches!(read(&folder.path().join("none")), Err(RecordError::Read { .. })));
    assert!(matches!(refused(b"kind: Pod"), RecordError::Format { .. }));
    assert!(matches!(refused(b"{}"), RecordError::Format { .. }));
    assert!(matches!(refused(&vec![b' '; RECORD_BYTES_MAX + 1]), RecordError::TooLarge { .. }));
    let later = json!({
        "apiVersion": "witlet.dev/v9", "kind": KIND, "note": "", "plugin": "p", "component": "", "digest": "",
        "config": null, "limits": {"timeoutMilliseconds": 1, "memoryBytes": 1}, "grants": [],
        "recordedAt": "1970-01-01T00:00:00Z", "tookNanoseconds": 0,
        "question": {"role": "podSource", "cursor": null}, "answer": {"kind": "admit"},
    });
    let error = refused(later.to_string().as_bytes());
    assert!(matches!(error, RecordError::Version { .. }), "{error}");
    assert!(error.to_string().contains("witlet.dev/v9"), "{error}");
}
