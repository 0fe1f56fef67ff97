//! Tests of the states of containers: what the runtime has, why they wait, and what is remembered.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::fixtures::{at, exited, first, in_sandbox, instance, pod, running};
use crate::runtime::{ContainerId, ObservedPod};

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
    probes: BTreeMap<ContainerId, ProbeResults>,
}

impl Facts {
    fn of(pod: Pod, containers: Vec<ObservedContainer>) -> Self {
        let observed = in_sandbox(containers);
        Self { pod, observed, previous: None, waiting: BTreeMap::new(), probes: BTreeMap::new() }
    }

    fn before(mut self, statuses: Vec<ContainerStatus>) -> Self {
        self.previous = Some(PodStatus { container_statuses: Some(statuses), ..PodStatus::default() });
        self
    }

    fn waits(mut self, reason: WaitingReason) -> Self {
        self.waiting.insert("a".to_owned(), Waiting { reason, message: "so it is".to_owned() });
        self
    }

    fn statuses(&self) -> Vec<ContainerStatus> {
        statuses(StatusInput {
            pod: &self.pod,
            observed: &self.observed,
            previous: self.previous.as_ref(),
            host_ips: &[],
            runtime_name: "containerd",
            waiting: &self.waiting,
            probes: &self.probes,
            ends: false,
            now: at(1_000),
        })
    }

    /// State, last state and restart count of the first container.
    fn words(&self) -> (String, String, i32) {
        let status = self.statuses().remove(0);
        (word(&status.state), word(&status.last_state), status.restart_count)
    }
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
fn the_end_of_a_container_is_told_in_full() {
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
    assert_eq!(Facts::of(one(), vec![newer]).before(before).words(), words("running", "empty", 2));
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
fn an_end_that_was_told_stays_told_after_the_runtime_forgot_it() {
    let never = pod("Never", &["a"]);
    let before = Facts::of(never.clone(), vec![exited(&never, "a", 3)]).statuses();
    assert_eq!(Facts::of(never, vec![]).before(before).words(), words("terminated 3 Error", "empty", 0));
}

#[test]
fn a_running_container_of_which_the_runtime_lost_track_counts_as_killed() {
    let lost = vec![instance(&one(), "a", 0, ContainerRunState::Unknown)];
    let facts = Facts::of(one(), lost).before(vec![was_running(0)]);
    assert_eq!(facts.words(), words("terminated 137 ContainerStatusUnknown", "empty", 0));
}

#[test]
fn probes_that_the_spec_has_decide_on_started_and_ready() {
    // Startup probe, its result; readiness probe, its result; then started, ready.
    let cases = [
        (false, None, false, None, true, true),
        (true, None, false, None, false, false),
        (true, Some(false), false, None, false, false),
        (true, Some(true), false, None, true, true),
        (false, None, true, None, true, false),
        (false, None, true, Some(false), true, false),
        (false, None, true, Some(true), true, true),
        (true, Some(false), true, Some(true), false, false),
        (true, Some(true), true, Some(true), true, true),
    ];
    for (startup, started, readiness, ready, expected_started, expected_ready) in cases {
        let mut pod = one();
        first(&mut pod).startup_probe = startup.then(Default::default);
        first(&mut pod).readiness_probe = readiness.then(Default::default);
        let mut facts = Facts::of(pod.clone(), vec![running(&pod, "a")]);
        facts.probes.insert("a-0".into(), ProbeResults { started, ready });
        let status = facts.statuses().remove(0);
        assert_eq!((status.started, status.ready), (Some(expected_started), expected_ready));
        facts.observed.containers[0].state = ContainerRunState::Exited;
        let status = facts.statuses().remove(0);
        assert_eq!((status.started, status.ready), (Some(false), false), "what doesn't run is neither");
    }
}

#[test]
fn containers_are_ordered_by_name_and_strangers_left_out() {
    let pod = pod("Always", &["b", "a"]);
    let stray = running(&pod, "stray");
    let names: Vec<String> =
        Facts::of(pod, vec![stray]).statuses().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_crash_loop_is_told_in_upstreams_words() {
    for (seconds, expected) in [(10, "10s"), (60, "1m0s"), (160, "2m40s"), (300, "5m0s")] {
        let waiting = Waiting::crash_loop(&one(), "a", Duration::from_secs(seconds));
        let message = format!("back-off {expected} restarting failed container=a pod=web_ns(uid-1)");
        assert_eq!(waiting, Waiting { reason: WaitingReason::CrashLoopBackOff, message });
    }
}

#[test]
fn a_container_that_ended_for_good_may_not_run_again() {
    let status = |state: &str| {
        let pod = one();
        let seen = match state {
            "running" => running(&pod, "a"),
            "failed" => exited(&pod, "a", 1),
            _ => exited(&pod, "a", 0),
        };
        let statuses = Facts::of(pod, vec![seen]).statuses();
        PodStatus { container_statuses: Some(statuses), ..PodStatus::default() }
    };
    let cases = [
        ("Always", "succeeded", "running", true),
        ("Always", "failed", "running", true),
        ("OnFailure", "succeeded", "running", false),
        ("OnFailure", "failed", "running", true),
        ("Never", "succeeded", "running", false),
        ("Never", "failed", "running", false),
        ("Never", "failed", "failed", true),
        ("Never", "running", "failed", true),
        ("Never", "running", "running", true),
    ];
    for (policy, old, new, allowed) in cases {
        let pod = pod(policy, &["a"]);
        let result = check_container_transition(&pod, &status(old), &status(new));
        assert_eq!(result.is_ok(), allowed, "{policy}: {old} to {new}");
    }
    let error = check_container_transition(&pod("Never", &["a"]), &status("failed"), &status("running"));
    assert_eq!(
        error.unwrap_err().to_string(),
        "terminated container a would leave its state, which restart policy Never forbids"
    );
    let gone = PodStatus::default();
    assert_eq!(check_container_transition(&pod("Never", &["a"]), &status("failed"), &gone), Ok(()));
}
