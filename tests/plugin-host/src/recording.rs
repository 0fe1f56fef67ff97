//! Calls are recorded as they happen, and replayed with the same answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use witlet_core::admission::Decision;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::{ContainerId, ExecOutput};
use witlet_ports::Clock;
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig};
use witlet_wasm::record::replay::{GivenData, Identity, ReplayError, Replayed, replay};
use witlet_wasm::record::{RecordedCall, RecordedRequest, RecordedResponse, RecorderConfig, read};

use crate::claims;
use crate::node::{Events, cache, configuration, now, pod, request, write};
use crate::servers::Runs;

claims!(
    a_recorded_verdict_is_replayed_to_the_letter,
    what_a_handler_draws_and_reads_from_its_clock_is_the_same_in_a_replay,
    a_recorded_failure_is_replayed_as_the_same_kind,
    another_component_or_answer_is_reported,
    a_probe_is_replayed_with_the_results_of_its_commands,
    a_probe_with_network_or_secrets_is_not_replayed,
    nothing_is_recorded_unless_the_entry_says_so,
);

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> jiff::Timestamp {
        now()
    }
}

/// A host that records, with the runtime's answer to every command.
struct Recording {
    folder: TempDir,
    host: Arc<PluginHost>,
}

impl Recording {
    async fn start(entries: &str) -> Self {
        let folder = TempDir::new().expect("a folder for the test");
        let exec = witlet_plugins::PROBES.iter().find(|probe| probe.name == "exec").expect("it ships");
        for (name, bytes) in [
            ("hostile.wasm", witlet_test_guests::HOSTILE),
            ("no-latest-tag.wasm", witlet_test_guests::NO_LATEST_TAG),
            ("prober.wasm", witlet_test_guests::PROBER),
            ("exec.wasm", exec.component),
        ] {
            write(&folder.path().join(name), bytes);
        }
        write(&folder.path().join("plugins.yaml"), configuration(entries));
        let host = PluginHost::start(PluginHostConfig {
            tracer: witlet_ports::Tracer::off(),
            compiler: crate::node::compiler(cache()),
            plugins_file: Some(folder.path().join("plugins.yaml")),
            builtins: Vec::new(),
            shipped: Vec::new(),
            fetcher: None,
            containers: Some(Arc::new(Runs(|_, command, _| {
                // Commands say what they were.
                let stdout = format!("I am {}", command.join(" ")).into_bytes();
                Some(Ok(ExecOutput { stdout, stderr: Vec::new(), exit_code: 1 }))
            }))),
            state_folder: None,
            last_good_folder: None,
            data: DataConfig::default(),
            decision_log_folder: None,
            in_cluster: false,
            node: None,
            recorder: Some(RecorderConfig {
                folder: folder.path().join("recorded"),
                clock: Arc::new(FixedClock),
            }),
            clock: Arc::new(FixedClock),
            events: Arc::new(Events::default()),
        })
        .await
        .expect("the host starts");
        let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, host.ready()).await;
        assert!(ready.is_ok(), "every plugin was tried: {:#?}", host.list());
        Self { folder, host }
    }

    fn records(&self, plugin: &str) -> Vec<PathBuf> {
        let listed = std::fs::read_dir(self.folder.path().join("recorded").join(plugin));
        let files = listed.into_iter().flatten().map(|file| file.expect("a file").path());
        let mut whole: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
        whole.sort();
        whole
    }

    /// The newest recorded call, once there are this many.
    async fn newest(&self, plugin: &str, count: usize) -> RecordedCall {
        let found = async {
            loop {
                let records = self.records(plugin);
                if let Some(path) = records.last().filter(|_| records.len() >= count) {
                    return read(path).expect("a recorded call");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, found).await;
        found.unwrap_or_else(|_| panic!("nothing was recorded; plugins: {:#?}", self.host.list()))
    }

    async fn admit(&self, name: &str) -> Decision {
        let mut pod = pod(name);
        if let Some(spec) = &mut pod.spec {
            spec.containers[0].image = Some("registry.example.com/app:latest".to_owned());
        }
        self.host.admission().admit(request(pod)).await
    }

    async fn probe(&self, probe_type: &str, parameters: &str) -> ProbeOutcome {
        let request = ProbeRequest {
            probe_type: probe_type.into(),
            parameters: parameters.into(),
            pod: Arc::new(pod("web")),
            container: "main".to_owned(),
            container_id: ContainerId::from("c1"),
            restarts: 0,
            pod_ips: Vec::new(),
            host_ips: Vec::new(),
            kind: ProbeKind::Liveness,
            timeout: witlet_harness::WAIT_TIMEOUT,
        };
        self.host.probes().probe(&request).await.expect("it is carried out")
    }
}

async fn again(call: &RecordedCall, wasm: &[u8], identity: Identity) -> Result<Replayed, ReplayError> {
    replay(
        call,
        wasm.into(),
        GivenData::new(),
        identity,
        crate::node::compiler(cache()),
        Arc::new(FixedClock),
    )
    .await
}

const NO_LATEST_TAG: &str = "- {name: no-latest-tag, component: no-latest-tag.wasm, admission: {}, record: {max: 5}, \
     limits: {timeout: 10s}}\n";

fn hostile(behaviour: &str) -> String {
    format!(
        "- {{name: hostile, component: hostile.wasm, admission: {{}}, record: {{max: 5}}, limits: {{timeout: 10s}}, \
         config: {behaviour}}}\n"
    )
}

async fn a_recorded_verdict_is_replayed_to_the_letter() {
    let recording = Recording::start(NO_LATEST_TAG).await;
    let Decision::Reject { reason, message, .. } = recording.admit("web").await else {
        panic!("it is refused")
    };
    let call = recording.newest("no-latest-tag", 1).await;
    let by = format!(" (plugin no-latest-tag, sha256:{})", &call.digest[..12]);
    let message = message.strip_suffix(&by).expect("the pod's status names the plugin").to_owned();
    assert_eq!(call.answer, RecordedResponse::Reject { reason, message }, "as the plugin gave it");
    assert!(call.took_nanoseconds > 0 && call.component.ends_with("/no-latest-tag.wasm"), "{call:?}");
    let replayed =
        again(&call, witlet_test_guests::NO_LATEST_TAG, Identity::Recorded).await.expect("replayed");
    assert!(replayed.same, "{replayed:?}");
    assert_eq!((&replayed.answer, &replayed.digest), (&call.answer, &call.digest));
}

async fn what_a_handler_draws_and_reads_from_its_clock_is_the_same_in_a_replay() {
    let recording = Recording::start(&hostile("explore")).await;
    recording.admit("web").await;
    let call = recording.newest("hostile", 1).await;
    let RecordedResponse::Reject { message, .. } = &call.answer else {
        panic!("it tells what it saw: {call:?}")
    };
    assert!(!message.is_empty());
    for _ in 0..3 {
        let replayed = again(&call, witlet_test_guests::HOSTILE, Identity::Recorded).await.expect("replayed");
        assert!(replayed.same, "{replayed:?} after {call:?}");
    }
}

async fn a_recorded_failure_is_replayed_as_the_same_kind() {
    let recording = Recording::start(&hostile("trap")).await;
    recording.admit("web").await;
    let call = recording.newest("hostile", 1).await;
    let replayed = again(&call, witlet_test_guests::HOSTILE, Identity::Recorded).await.expect("replayed");
    assert!(replayed.same, "{replayed:?}");
    assert!(
        matches!(&replayed.answer, RecordedResponse::Failed { outcome, .. } if outcome == "trapped"),
        "{replayed:?}"
    );
}

async fn another_component_or_answer_is_reported() {
    let recording = Recording::start(&hostile("reject")).await;
    recording.admit("web").await;
    let mut call = recording.newest("hostile", 1).await;
    let other = again(&call, witlet_test_guests::NO_LATEST_TAG, Identity::Recorded).await;
    assert!(matches!(other, Err(ReplayError::Digest { .. })), "{other:?}");
    // It has no use for this configuration, or another opinion: either way that is reported.
    let other = again(&call, witlet_test_guests::NO_LATEST_TAG, Identity::Any).await;
    assert!(other.as_ref().map_or(true, |replayed| !replayed.same), "{other:?}");
    call.answer = RecordedResponse::Admit;
    let replayed = again(&call, witlet_test_guests::HOSTILE, Identity::Recorded).await.expect("replayed");
    assert!(!replayed.same, "{replayed:?}");
}

async fn a_probe_is_replayed_with_the_results_of_its_commands() {
    let entry = "- {name: alive, component: exec.wasm, probe: {}, grants: {exec: true}, record: {max: 5}}\n";
    let recording = Recording::start(entry).await;
    let outcome = recording.probe("alive", r#"{"command": ["cat", "/alive"]}"#).await;
    assert_eq!(outcome, ProbeOutcome::Failure("I am cat /alive".to_owned()));
    let mut call = recording.newest("alive", 1).await;
    let exec = &recording.folder.path().join("exec.wasm");
    let exec = std::fs::read(exec).expect("it is there");
    let replayed = again(&call, &exec, Identity::Recorded).await.expect("replayed");
    assert!(replayed.same && replayed.commands.is_none(), "{replayed:?}");
    // With other results of the command another answer.
    let RecordedRequest::Probe(question) = &mut call.question else { panic!("a probe: {call:?}") };
    question.execs[0].exit_code = Some(0);
    let replayed = again(&call, &exec, Identity::Recorded).await.expect("replayed");
    assert!(!replayed.same && replayed.commands.is_none(), "{replayed:?}");
    // A command that wasn't recorded isn't run.
    let RecordedRequest::Probe(question) = &mut call.question else { panic!("a probe: {call:?}") };
    question.execs[0].command = vec!["true".to_owned()];
    let replayed = again(&call, &exec, Identity::Recorded).await.expect("replayed");
    assert!(replayed.commands.is_some_and(|reported| reported.contains("/alive")), "the command is reported");
}

async fn a_probe_with_network_or_secrets_is_not_replayed() {
    let entry = "- {name: prober, component: prober.wasm, probe: {}, record: {max: 5}, \
                 grants: {exec: true, network: [pod], secrets: [key]}}\n";
    let folder = TempDir::new().expect("a folder");
    let secret = folder.path().join("key");
    std::fs::write(&secret, "hunter2-and-more").expect("written");
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
    let entries = format!("{entry}secrets:\n- {{name: key, file: {}}}\n", secret.display());
    let recording = Recording::start(&entries).await;
    // It tells its secret, which must not be written.
    let outcome = recording.probe("prober", r#"{"do": "secret", "text": "key"}"#).await;
    assert_eq!(outcome, ProbeOutcome::Success("hunter2-and-more".to_owned()));
    let call = recording.newest("prober", 1).await;
    assert_eq!(call.answer, RecordedResponse::Success { detail: "[secret key]".to_owned() });
    let [path] = recording.records("prober").try_into().expect("one call");
    assert!(!std::fs::read_to_string(path).expect("read").contains("hunter2"));
    let refused = again(&call, witlet_test_guests::PROBER, Identity::Recorded).await;
    let Err(ReplayError::NotRecorded { grants }) = refused else { panic!("{refused:?}") };
    assert_eq!(grants, ["network", "secrets"]);
}

async fn nothing_is_recorded_unless_the_entry_says_so() {
    let entries = format!(
        "{NO_LATEST_TAG}- {{name: quiet, component: hostile.wasm, admission: {{order: 1}}, config: admit, \
         limits: {{timeout: 10s}}}}\n"
    );
    let recording = Recording::start(&entries).await;
    recording.admit("web").await;
    recording.newest("no-latest-tag", 1).await;
    assert!(!recording.folder.path().join("recorded/quiet").exists());
}
