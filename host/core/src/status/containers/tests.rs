//! Tests of the states of containers: what the runtime has, why they wait, and what is remembered.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::EphemeralContainer;

use super::*;
use crate::fixtures::{at, exited, first, in_sandbox, instance, observed, pod, running, spec};
use crate::probe::{ContainerProbes, ProbeResult, ProbeResults};
use crate::status::{ResizeStatus, StartedContainers};

mod init;
mod removal;

/// A state in one line.
fn word(state: &Option<ContainerState>) -> String {
    let Some(state) = state else { return "none".to_owned() };
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    if let Some(waiting) = &state.waiting {
        format!("waiting {}: {}", or_dash(&waiting.reason), or_dash(&waiting.message))
    } else if state.running.is_some() {
        "running".to_owned()
    } else if let Some(ended) = &state.terminated {
        format!("terminated {} {}", ended.exit_code, or_dash(&ended.reason))
    } else {
        "empty".to_owned()
    }
}

struct Facts {
    pod: Pod,
    observed: ObservedPod,
    previous: Option<PodStatus>,
    waiting: BTreeMap<String, Waiting>,
    probes: ProbeResults,
    started_before: StartedContainers,
}

impl Facts {
    fn of(pod: Pod, containers: Vec<ObservedContainer>) -> Self {
        let observed = in_sandbox(containers);
        let (waiting, probes, started_before) = Default::default();
        Self { pod, observed, previous: None, waiting, probes, started_before }
    }

    fn before(mut self, statuses: Vec<ContainerStatus>) -> Self {
        self.previous.get_or_insert_default().container_statuses = Some(statuses);
        self
    }

    fn init_before(mut self, statuses: Vec<ContainerStatus>) -> Self {
        self.previous.get_or_insert_default().init_container_statuses = Some(statuses);
        self
    }

    fn waits(mut self, reason: WaitingReason) -> Self {
        self.waiting.insert("a".to_owned(), Waiting { reason, message: "so it is".to_owned() });
        self
    }

    fn all(&self) -> Statuses {
        statuses(StatusInput {
            pod: &self.pod,
            observed: &self.observed,
            previous: self.previous.as_ref(),
            host_ips: &[],
            runtime_name: "containerd",
            recursive_read_only: true,
            waiting: &self.waiting,
            probes: &self.probes,
            started_before: &self.started_before,
            resize: &ResizeStatus::default(),
            ends: false,
            now: at(1_000),
        })
    }

    fn statuses(&self) -> Vec<ContainerStatus> {
        self.all().app
    }

    fn init(&self) -> ContainerStatus {
        self.all().init.remove(0)
    }

    /// State, last state and restart count of the first app container.
    fn words(&self) -> (String, String, i32) {
        words_of(&self.statuses().remove(0))
    }
}

fn words_of(status: &ContainerStatus) -> (String, String, i32) {
    (word(&status.state), word(&status.last_state), status.restart_count)
}

fn words(state: &str, last_state: &str, restart_count: i32) -> (String, String, i32) {
    (state.to_owned(), last_state.to_owned(), restart_count)
}

fn one() -> Pod {
    pod("Always", &["a"])
}

fn was_running(restart_count: i32) -> ContainerStatus {
    let running = Some(ContainerStateRunning::default());
    ContainerStatus {
        name: "a".to_owned(),
        restart_count,
        state: Some(ContainerState { running, ..ContainerState::default() }),
        ..ContainerStatus::default()
    }
}

#[test]
fn a_container_that_was_never_made_is_being_created() {
    let status = Facts::of(one(), vec![]).statuses().remove(0);
    assert_eq!(word(&status.state), "waiting ContainerCreating: -");
    assert_eq!((status.image.as_str(), status.container_id), ("a-image", None));
    assert_eq!((status.ready, status.started), (false, Some(false)));
}

#[test]
fn each_state_of_the_runtime_has_its_word() {
    let cases = [
        (ContainerRunState::Created, "waiting -: -"),
        (ContainerRunState::Running, "running"),
        (ContainerRunState::Exited, "terminated 0 -"),
        (ContainerRunState::Unknown, "waiting -: -"),
    ];
    for (state, expected) in cases {
        let facts = Facts::of(one(), vec![instance(&one(), "a", 3, state)]);
        assert_eq!(facts.words(), words(expected, "empty", 3));
    }
}

#[test]
fn a_running_container_shows_what_the_runtime_knows_of_it() {
    let status = Facts::of(one(), vec![running(&one(), "a")]).statuses().remove(0);
    assert_eq!(status.container_id.as_deref(), Some("containerd://a-0"));
    assert_eq!((status.image.as_str(), status.image_id.as_str()), ("a-image", "sha256:a"));
    assert_eq!(status.state.and_then(|state| state.running?.started_at), Some(Time(at(0))));
    assert_eq!((status.ready, status.started), (true, Some(true)));
}

#[test]
fn the_end_of_a_container_is_reported_in_full() {
    let seen = ObservedContainer {
        reason: "OOMKilled".to_owned(),
        message: "too much".to_owned(),
        ..exited(&one(), "a", 137)
    };
    let status = Facts::of(one(), vec![seen]).statuses().remove(0);
    let expected = ContainerStateTerminated {
        container_id: Some("containerd://a-0".to_owned()),
        exit_code: 137,
        finished_at: Some(Time(at(100))),
        message: Some("too much".to_owned()),
        reason: Some("OOMKilled".to_owned()),
        signal: None,
        started_at: Some(Time(at(0))),
    };
    assert_eq!(terminated_state(&status), Some(&expected));
    assert!(!status.ready);
}

#[test]
fn the_instance_before_is_the_last_state() {
    let again = instance(&one(), "a", 1, ContainerRunState::Running);
    let facts = Facts::of(one(), vec![again, exited(&one(), "a", 3)]);
    assert_eq!(facts.words(), words("running", "terminated 3 Error", 1));
}

#[test]
fn a_last_state_is_remembered_after_the_runtime_removed_the_instance() {
    let again = instance(&one(), "a", 1, ContainerRunState::Running);
    let before = Facts::of(one(), vec![again.clone(), exited(&one(), "a", 3)]).statuses();
    let facts = Facts::of(one(), vec![again]).before(before.clone());
    assert_eq!(facts.words(), words("running", "terminated 3 Error", 1));
    let newer = instance(&one(), "a", 2, ContainerRunState::Running);
    let facts = Facts::of(one(), vec![newer]).before(before);
    assert_eq!(facts.words(), words("running", "terminated 3 Error", 2), "the last end that anyone saw");
}

#[test]
fn a_container_that_should_run_again_says_why_it_waits() {
    let crashed = || vec![exited(&one(), "a", 1)];
    let waits = Facts::of(one(), crashed()).waits(WaitingReason::CrashLoopBackOff);
    assert_eq!(waits.words(), words("waiting CrashLoopBackOff: so it is", "terminated 1 Error", 0));
    assert_eq!(Facts::of(one(), crashed()).words(), words("terminated 1 Error", "empty", 0));
    let never_made = Facts::of(one(), vec![]).waits(WaitingReason::ErrImagePull);
    assert_eq!(never_made.words(), words("waiting ErrImagePull: so it is", "empty", 0));
    let created = vec![instance(&one(), "a", 0, ContainerRunState::Created)];
    let not_started = Facts::of(one(), created).waits(WaitingReason::RunContainerError);
    assert_eq!(not_started.words(), words("waiting RunContainerError: so it is", "empty", 0));
}

#[test]
fn a_reason_to_wait_does_not_hide_a_container_that_runs_or_is_done() {
    let runs = Facts::of(one(), vec![running(&one(), "a")]).waits(WaitingReason::CrashLoopBackOff);
    assert_eq!(runs.words(), words("running", "empty", 0));
    let never = pod("Never", &["a"]);
    let done = Facts::of(never.clone(), vec![exited(&never, "a", 1)]).waits(WaitingReason::CrashLoopBackOff);
    assert_eq!(done.words(), words("terminated 1 Error", "empty", 0));
}

#[test]
fn a_container_that_vanished_while_it_ran_counts_as_killed_once() {
    let facts = Facts::of(one(), vec![]).before(vec![was_running(2)]);
    let expected = words("waiting ContainerCreating: -", "terminated 137 ContainerStatusUnknown", 3);
    assert_eq!(facts.words(), expected);
    let again = Facts::of(one(), vec![]).before(facts.statuses());
    assert_eq!(again.words(), expected);
}

#[test]
fn a_container_that_vanished_from_a_deleted_pod_was_not_restarted() {
    let mut facts = Facts::of(one(), vec![]).before(vec![was_running(2)]);
    facts.pod.metadata.deletion_timestamp = Some(Time(at(0)));
    assert_eq!(facts.words().2, 2);
}

#[test]
fn an_end_that_was_reported_stays_reported_after_the_runtime_forgot_it() {
    let never = pod("Never", &["a"]);
    let before = Facts::of(never.clone(), vec![exited(&never, "a", 3)]).statuses();
    assert_eq!(Facts::of(never, vec![]).before(before).words(), words("terminated 3 Error", "empty", 0));
}

#[test]
fn a_running_container_of_which_the_runtime_lost_track_counts_as_killed() {
    let lost = vec![instance(&one(), "a", 0, ContainerRunState::Unknown)];
    let facts = Facts::of(one(), lost).before(vec![was_running(0)]);
    assert_eq!(facts.words(), words("terminated 137 ContainerStatusUnknown", "empty", 1));
    let next = vec![instance(&one(), "a", 1, ContainerRunState::Running)];
    let next = Facts::of(one(), next).before(facts.statuses());
    assert_eq!(next.words(), words("running", "terminated 137 ContainerStatusUnknown", 1), "not once more");
}

#[test]
fn probes_that_the_spec_has_decide_on_started_and_ready() {
    use ProbeResult::{Failure, Success, Unknown};
    // Startup probe, its result; readiness probe, its result; then started, ready.
    let cases = [
        (false, None, false, None, true, true),
        (true, None, false, None, false, false),
        (true, Some(Unknown), false, None, false, false),
        (true, Some(Failure), false, None, false, false),
        (true, Some(Success), false, None, true, true),
        (false, None, true, None, true, false),
        (false, None, true, Some(Failure), true, false),
        (false, None, true, Some(Success), true, true),
        (true, Some(Failure), true, Some(Success), false, false),
        (true, Some(Success), true, Some(Success), true, true),
    ];
    for (has_startup, startup, has_readiness, readiness, started, ready) in cases {
        let mut pod = one();
        first(&mut pod).startup_probe = has_startup.then(Default::default);
        first(&mut pod).readiness_probe = has_readiness.then(Default::default);
        let mut facts = Facts::of(pod.clone(), vec![running(&pod, "a")]);
        facts.probes.insert("a-0".into(), ContainerProbes { startup, readiness, liveness: None });
        let status = facts.statuses().remove(0);
        assert_eq!((status.started, status.ready), (Some(started), ready));
        facts.observed.containers[0].state = ContainerRunState::Exited;
        let status = facts.statuses().remove(0);
        assert_eq!((status.started, status.ready), (Some(false), false), "what doesn't run is neither");
    }
}

#[test]
fn a_restart_of_the_agent_takes_back_neither_started_nor_ready_of_the_same_instance() {
    let mut pod = one();
    first(&mut pod).startup_probe = Some(Default::default());
    first(&mut pod).readiness_probe = Some(Default::default());
    let mut facts = Facts::of(pod.clone(), vec![running(&pod, "a")]);
    let passes = Some(ProbeResult::Success);
    facts.probes.insert("a-0".into(), ContainerProbes { startup: passes, readiness: passes, liveness: None });
    let before = facts.statuses();
    facts.probes.clear();
    let mut facts = facts.before(before);
    let status = facts.statuses().remove(0);
    assert_eq!((status.started, status.ready), (Some(true), true));
    facts.probes.insert(
        "a-0".into(),
        ContainerProbes { startup: passes, readiness: Some(ProbeResult::Failure), liveness: None },
    );
    assert!(!facts.statuses().remove(0).ready, "a result counts more than what was said before");
    facts.probes.clear();
    facts.observed.containers.insert(0, instance(&pod, "a", 1, ContainerRunState::Running));
    let status = facts.statuses().remove(0);
    assert_eq!((status.started, status.ready), (Some(false), false), "another instance has to show it again");
}

#[test]
fn what_was_saved_of_an_instance_counts_until_its_probes_say_more() {
    use ProbeResult::{Failure, Success};
    let mut pod = one();
    first(&mut pod).startup_probe = Some(Default::default());
    first(&mut pod).readiness_probe = Some(Default::default());
    // Of which container it was saved that it started, and whether it was ready; results; then started, ready.
    let cases = [
        (None, None, None, false, false),
        (Some(("a-0", true)), None, None, true, true),
        (Some(("a-0", false)), None, None, true, false),
        (Some(("a-1", true)), None, None, false, false),
        (Some(("a-0", true)), None, Some(Failure), true, false),
        (Some(("a-0", false)), None, Some(Success), true, true),
        (Some(("a-0", true)), Some(Failure), None, false, false),
    ];
    for (saved, startup, readiness, started, ready) in cases {
        let mut facts = Facts::of(pod.clone(), vec![running(&pod, "a")]);
        facts.started_before = saved.map(|(id, ready)| (id.into(), ready)).into_iter().collect();
        facts.probes.insert("a-0".into(), ContainerProbes { startup, readiness, liveness: None });
        let status = facts.statuses().remove(0);
        assert_eq!(
            (status.started, status.ready),
            (Some(started), ready),
            "{saved:?} {startup:?} {readiness:?}"
        );
    }
    // What was said of it since is newer than what was saved.
    let mut facts = Facts::of(pod.clone(), vec![running(&pod, "a")]);
    let passes = Some(Success);
    let unready = ContainerProbes { startup: passes, readiness: Some(Failure), liveness: None };
    facts.probes.insert("a-0".into(), unready);
    let said = facts.statuses();
    facts.probes.clear();
    facts.started_before = [("a-0".into(), true)].into();
    let status = facts.before(said).statuses().remove(0);
    assert_eq!((status.started, status.ready), (Some(true), false));
}

#[test]
fn containers_are_ordered_by_name_and_others_left_out() {
    let pod = pod("Always", &["b", "a"]);
    let stray = running(&pod, "stray");
    let names: Vec<String> =
        Facts::of(pod, vec![stray]).statuses().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn an_end_that_no_one_saw_stays_reported_while_no_one_knows_better() {
    let lost = || vec![instance(&one(), "a", 0, ContainerRunState::Unknown)];
    let first = Facts::of(one(), lost()).before(vec![was_running(0)]).statuses();
    let again = Facts::of(one(), lost()).before(first.clone());
    assert_eq!(words_of(&again.statuses()[0]), words_of(&first[0]));
}

#[test]
fn ephemeral_containers_have_statuses_of_their_own() {
    let mut pod = one();
    let debugger = |name: &str| EphemeralContainer { name: name.to_owned(), ..EphemeralContainer::default() };
    spec(&mut pod).ephemeral_containers = Some(vec![debugger("z"), debugger("d")]);
    let statuses = Facts::of(pod.clone(), vec![running(&pod, "z")]).all();
    let names: Vec<&str> = statuses.ephemeral.iter().map(|status| status.name.as_str()).collect();
    assert_eq!(names, ["d", "z"]);
    assert_eq!(words_of(&statuses.ephemeral[0]), words("waiting ContainerCreating: -", "empty", 0));
    assert_eq!(word(&statuses.ephemeral[1].state), "running");
    assert_eq!((statuses.ephemeral[1].ready, statuses.ephemeral[1].started), (false, None));
    assert_eq!(statuses.app.len(), 1);
}

#[test]
fn an_instance_that_was_removed_before_its_successor_is_the_last_state() {
    let before = Facts::of(one(), vec![exited(&one(), "a", 3)]).statuses();
    // Its successor has the next count, or one that starts over since the runtime has forgotten all.
    for count in [1, 0] {
        let mut next = instance(&one(), "a", count, ContainerRunState::Running);
        next.id = "another".into();
        let facts = Facts::of(one(), vec![next]).before(before.clone());
        assert_eq!(facts.words(), words("running", "terminated 3 Error", 1), "{count}");
    }
}

#[test]
fn a_restart_count_never_goes_back() {
    let seen = || vec![instance(&one(), "a", 2, ContainerRunState::Running)];
    assert_eq!(Facts::of(one(), seen()).before(vec![was_running(5)]).words().2, 5);
    assert_eq!(Facts::of(one(), seen()).before(vec![was_running(1)]).words().2, 2);
    assert_eq!(Facts::of(one(), vec![]).before(Facts::of(one(), seen()).statuses()).words().2, 3);
}

#[test]
fn an_older_loss_is_not_overwritten_by_a_newer_one() {
    let mut before = was_running(2);
    before.last_state = Some(lost_state("the first time"));
    let facts = Facts::of(one(), vec![]).before(vec![before]);
    let status = facts.statuses().remove(0);
    assert_eq!(status.restart_count, 2);
    let reported = last_terminated_state(&status).and_then(|ended| ended.message.clone());
    assert_eq!(reported.as_deref(), Some("the first time"));
}

#[test]
fn the_end_of_a_container_tells_its_termination_message_within_its_share() {
    let mut pod = pod("Always", &["a", "b", "c", "d"]);
    let mut seen = exited(&pod, "a", 1);
    seen.message = "oom".to_owned();
    seen.termination_message = Some("x".repeat(4096));
    let reported = |pod: &Pod| {
        let status = Facts::of(pod.clone(), vec![seen.clone()]).statuses().remove(0);
        terminated_state(&status).and_then(|ended| ended.message.clone()).unwrap()
    };
    assert_eq!(reported(&pod).len(), 3_072);
    assert!(reported(&pod).starts_with("oom: x"));
    spec(&mut pod).containers.truncate(1);
    assert_eq!(reported(&pod).len(), 4_096 + "oom: ".len());
}

#[test]
fn nothing_of_another_sandbox_is_missed_and_nothing_is_reported_without_one() {
    let facts = Facts { observed: observed(vec![], vec![]), ..Facts::of(one(), vec![]) };
    assert_eq!(facts.words(), words("waiting ContainerCreating: -", "empty", 0));
}
