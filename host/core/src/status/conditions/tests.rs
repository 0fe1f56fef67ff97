//! Tests of conditions: what holds, why not, and since when. What upstream's tables of `generate.go` know is among them.

use k8s_openapi::api::core::v1::{
    Container, ContainerRestartRule, ContainerRestartRuleOnExitCodes, ContainerState, ContainerStateRunning,
    ContainerStateTerminated, PodReadinessGate,
};

use super::*;
use crate::fixtures::{at, pod, spec};
use crate::status::{ResizeInProgress, ResizePending, ResizePendingReason};

/// A container's status: `+` ready, `-` not ready, `*` started but not ready, `r` running and not ready, `t` ended.
fn status(name: &str, mark: char) -> ContainerStatus {
    let state = match mark {
        'r' => ContainerState { running: Some(ContainerStateRunning::default()), ..Default::default() },
        't' => ContainerState { terminated: Some(ContainerStateTerminated::default()), ..Default::default() },
        _ => ContainerState::default(),
    };
    ContainerStatus {
        name: name.to_owned(),
        ready: mark == '+',
        started: Some(mark == '*'),
        state: Some(state),
        ..ContainerStatus::default()
    }
}

/// Statuses written as `a+ b-`.
fn statuses(marks: &str) -> Vec<ContainerStatus> {
    marks.split_whitespace().map(|mark| status(&mark[..1], mark[1..].chars().next().unwrap())).collect()
}

struct Facts {
    pod: Pod,
    phase: Phase,
    /// None where no one knows any status.
    marks: Option<&'static str>,
    previous: Option<PodStatus>,
    resize: ResizeStatus,
    has_network: bool,
    restarting_all: bool,
    now: i64,
}

impl Facts {
    fn of(pod: Pod, phase: Phase, marks: &'static str) -> Self {
        Self {
            pod,
            phase,
            marks: Some(marks),
            previous: None,
            resize: ResizeStatus::default(),
            has_network: true,
            restarting_all: false,
            now: 1,
        }
    }

    fn conditions(&self) -> Vec<PodCondition> {
        let statuses = statuses(self.marks.unwrap_or_default());
        let statuses: Vec<&ContainerStatus> = statuses.iter().collect();
        generate(ConditionInput {
            pod: &self.pod,
            phase: self.phase,
            statuses: self.marks.map(|_| statuses.as_slice()),
            has_network: self.has_network,
            restarting_all: self.restarting_all,
            resize: &self.resize,
            previous: self.previous.as_ref(),
            now: at(self.now),
        })
    }

    fn word(&self, kind: &str) -> String {
        word(&self.conditions(), kind)
    }
}

/// A condition as `status reason: message`.
fn word(conditions: &[PodCondition], kind: &str) -> String {
    let Some(condition) = conditions.iter().find(|condition| condition.type_ == kind) else {
        return "none".to_owned();
    };
    let reason = condition.reason.as_deref().unwrap_or("-");
    format!("{} {reason}: {}", condition.status, condition.message.as_deref().unwrap_or("-"))
}

/// A pod with these init containers and app containers; a capital letter is a sidecar.
fn with_init(init: &str, apps: &[&str]) -> Pod {
    let mut pod = pod("Always", apps);
    let init = init.chars().map(|name| Container {
        name: name.to_lowercase().to_string(),
        restart_policy: name.is_uppercase().then(|| "Always".to_owned()),
        ..Container::default()
    });
    spec(&mut pod).init_containers = Some(init.collect());
    pod
}

#[test]
fn a_pod_that_was_initialized_stays_so_while_its_init_containers_run_again() {
    let pod = with_init("x", &["a"]);
    let mut facts = Facts::of(pod, Phase::Running, "x- a-");
    let incomplete = "False ContainersNotInitialized: containers with incomplete status: [x]";
    assert_eq!(facts.word("Initialized"), incomplete);
    for (status, expected) in [("False", incomplete), ("True", "True -: -")] {
        let before = PodCondition {
            type_: "Initialized".to_owned(),
            status: status.to_owned(),
            ..PodCondition::default()
        };
        facts.previous = Some(PodStatus { conditions: Some(vec![before]), ..PodStatus::default() });
        assert_eq!(facts.word("Initialized"), expected, "it was {status}");
    }
}

#[test]
fn a_running_pod_is_ready_when_all_its_containers_are() {
    let unready = |names| format!("False ContainersNotReady: containers with unready status: [{names}]");
    let unknown = |names| format!("False ContainersNotReady: containers with unknown status: [{names}]");
    let cases: Vec<(Pod, &str, String)> = vec![
        (pod("Always", &[]), "", "True -: -".into()),
        (pod("Always", &["a"]), "", unknown("a")),
        (pod("Always", &["a"]), "a+", "True -: -".into()),
        (pod("Always", &["a", "b"]), "a+ b+", "True -: -".into()),
        (pod("Always", &["a", "b"]), "a+", unknown("b")),
        (pod("Always", &["a", "b"]), "a+ b-", unready("b")),
        (pod("Always", &["a", "b"]), "a- b-", unready("a b")),
        (
            pod("Always", &["a", "b"]),
            "b-",
            "False ContainersNotReady: containers with unknown status: [a], containers with unready status: [b]"
                .into(),
        ),
        (with_init("X", &["a"]), "a+", unknown("x")),
        (with_init("XY", &["a"]), "x+ y+ a+", "True -: -".into()),
        (with_init("XY", &["a"]), "x+ a+", unknown("y")),
        (with_init("XY", &["a"]), "x+ y- a+", unready("y")),
        // An init container that ends isn't waited for here.
        (with_init("x", &["a"]), "x- a+", "True -: -".into()),
    ];
    for (pod, marks, expected) in cases {
        let facts = Facts::of(pod, Phase::Running, marks);
        assert_eq!(facts.word("ContainersReady"), expected, "{marks}");
        assert_eq!(facts.word("Ready"), expected, "{marks}");
        assert_eq!(facts.word("PodScheduled"), "True -: -");
    }
}

#[test]
fn a_pod_of_which_no_status_is_known_is_not_ready() {
    let facts = Facts { marks: None, ..Facts::of(pod("Always", &["a"]), Phase::Running, "") };
    assert_eq!(facts.word("ContainersReady"), "False UnknownContainerStatuses: -");
    assert_eq!(facts.word("Ready"), "False UnknownContainerStatuses: -");
    assert_eq!(facts.word("Initialized"), "True -: -", "it has no init containers");
    let facts = Facts { marks: None, ..Facts::of(with_init("xy", &["a"]), Phase::Running, "") };
    assert_eq!(facts.word("Initialized"), "False UnknownContainerStatuses: -");
}

#[test]
fn a_terminal_pod_is_never_ready_whatever_its_containers_say() {
    for (phase, marks, expected) in [
        (Phase::Succeeded, "a+", "False PodCompleted: -"),
        (Phase::Succeeded, "a-", "False PodCompleted: -"),
        (Phase::Succeeded, "", "False ContainersNotReady: containers with unknown status: [a]"),
        (Phase::Failed, "a+", "False PodFailed: -"),
        (Phase::Failed, "", "False PodFailed: -"),
    ] {
        let facts = Facts::of(pod("Never", &["a"]), phase, marks);
        assert_eq!(facts.word("Ready"), expected);
        assert_eq!(facts.word("ContainersReady"), expected);
    }
}

#[test]
fn a_pod_is_initialised_when_its_init_containers_are_done_and_its_sidecars_started() {
    let incomplete =
        |names| format!("False ContainersNotInitialized: containers with incomplete status: [{names}]");
    let unknown =
        |names| format!("False ContainersNotInitialized: containers with unknown status: [{names}]");
    let holds = || "True -: -".to_owned();
    let cases: Vec<(&str, &str, Phase, String)> = vec![
        ("", "", Phase::Running, holds()),
        ("x", "", Phase::Running, unknown("x")),
        ("xy", "x+ y+", Phase::Running, holds()),
        ("xy", "x+", Phase::Running, unknown("y")),
        ("xy", "x+ y-", Phase::Running, incomplete("y")),
        ("x", "x+", Phase::Succeeded, "True PodCompleted: -".into()),
        ("x", "", Phase::Succeeded, unknown("x")),
        ("X", "x-", Phase::Pending, incomplete("x")),
        ("X", "x*", Phase::Running, holds()),
        ("X", "x- ar", Phase::Running, holds()),
        ("x", "x- at", Phase::Running, holds()),
        ("x", "x- a-", Phase::Running, incomplete("x")),
        (
            "xy",
            "y-",
            Phase::Pending,
            "False ContainersNotInitialized: containers with unknown status: [x], containers with incomplete status: [y]"
                .into(),
        ),
    ];
    for (init, marks, phase, expected) in cases {
        let facts = Facts::of(with_init(init, &["a"]), phase, marks);
        assert_eq!(facts.word("Initialized"), expected, "{init}: {marks}");
    }
}

#[test]
fn the_network_is_a_condition_of_its_own() {
    for (has_network, expected) in [(true, "True -: -"), (false, "False -: -")] {
        let facts = Facts { has_network, ..Facts::of(pod("Always", &["a"]), Phase::Pending, "") };
        assert_eq!(facts.word("PodReadyToStartContainers"), expected);
    }
}

#[test]
fn a_condition_keeps_its_time_until_it_turns() {
    let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, "");
    let mut times = Vec::new();
    for (now, marks) in [(1, "a-"), (2, "a-"), (3, "a+"), (4, "a+"), (5, "a-")] {
        (facts.now, facts.marks) = (now, Some(marks));
        let conditions = facts.conditions();
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
        times.push(ready.last_transition_time.as_ref().unwrap().0.as_second() - at(0).as_second());
        let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled").unwrap();
        assert_eq!(scheduled.last_transition_time, Some(Time(at(1))));
        facts.previous = Some(PodStatus { conditions: Some(conditions), ..PodStatus::default() });
    }
    assert_eq!(times, [1, 1, 3, 3, 5]);
}

#[test]
fn conditions_say_which_generation_of_the_pod_they_judge() {
    let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, "a+");
    facts.pod.metadata.generation = Some(4);
    facts.resize.in_progress = Some(ResizeInProgress { error: None, generation: Some(3) });
    for condition in facts.conditions() {
        let expected = if condition.type_ == "PodResizeInProgress" { 3 } else { 4 };
        assert_eq!(condition.observed_generation, Some(expected), "{}", condition.type_);
    }
}

fn gates(pod: &mut Pod, kinds: &[&str]) {
    let gate = |kind: &&str| PodReadinessGate { condition_type: (*kind).to_owned() };
    spec(pod).readiness_gates = Some(kinds.iter().map(gate).collect());
}

fn of_others(pod: &mut Pod, conditions: &[(&str, &str)]) {
    let condition = |(kind, status): &(&str, &str)| PodCondition {
        type_: (*kind).to_owned(),
        status: (*status).to_owned(),
        ..PodCondition::default()
    };
    pod.status.get_or_insert_default().conditions = Some(conditions.iter().map(condition).collect());
}

#[test]
fn readiness_gates_hold_a_ready_pod_back() {
    let missing = |gate| {
        format!(
            "False ReadinessGatesNotReady: corresponding condition of pod readiness gate {gate:?} does not exist."
        )
    };
    let is_false = |gate| {
        format!(
            "False ReadinessGatesNotReady: the status of pod readiness gate {gate:?} is not \"True\", but False"
        )
    };
    // The gates, the conditions that others set, the marks of the container, what `Ready` says.
    type Case = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str, String);
    let cases: Vec<Case> = vec![
        (&["g"], &[], "a+", missing("g")),
        (&["g"], &[("g", "False")], "a+", is_false("g")),
        (&["g"], &[("g", "True")], "a+", "True -: -".into()),
        (&["g", "h"], &[("g", "True")], "a+", missing("h")),
        (&["g", "h"], &[("g", "True"), ("h", "False")], "a+", is_false("h")),
        (&["g", "h"], &[("g", "True"), ("h", "True")], "a+", "True -: -".into()),
        (
            &["g", "h"],
            &[("h", "False")],
            "a+",
            "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"g\" does not exist., \
             the status of pod readiness gate \"h\" is not \"True\", but False"
                .into(),
        ),
        (
            &["g"],
            &[("g", "True")],
            "a-",
            "False ContainersNotReady: containers with unready status: [a]".into(),
        ),
    ];
    for (kinds, conditions, marks, expected) in cases {
        let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, marks);
        gates(&mut facts.pod, kinds);
        of_others(&mut facts.pod, conditions);
        assert_eq!(facts.word("Ready"), expected, "{kinds:?} {conditions:?}");
        let containers = if marks == "a+" { "True -: -" } else { expected.as_str() };
        assert_eq!(facts.word("ContainersReady"), containers);
    }
}

#[test]
fn a_gate_that_only_the_agent_could_open_stays_shut() {
    let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, "a+");
    gates(&mut facts.pod, &["Ready"]);
    of_others(&mut facts.pod, &[("Ready", "True")]);
    let words = "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"Ready\" does not exist.";
    assert_eq!(facts.word("Ready"), words);
}

#[test]
fn a_turned_readiness_gate_makes_what_was_notified_of_the_pod_outdated() {
    let mut pod = pod("Always", &["a"]);
    pod.status = Some(PodStatus {
        phase: Some("Running".to_owned()),
        container_statuses: Some(statuses("a+")),
        ..PodStatus::default()
    });
    of_others(&mut pod, &[("Ready", "False"), ("g", "True")]);
    assert!(!is_readiness_outdated(&pod), "no one asks for a gate");
    gates(&mut pod, &["g"]);
    assert!(is_readiness_outdated(&pod), "the gate has turned");
    of_others(&mut pod, &[("Ready", "True"), ("g", "True")]);
    assert!(!is_readiness_outdated(&pod));
    of_others(&mut pod, &[("Ready", "True"), ("g", "False")]);
    assert!(is_readiness_outdated(&pod), "the gate has turned back");
    of_others(&mut pod, &[("g", "False")]);
    assert!(!is_readiness_outdated(&pod), "nothing was reported yet");
}

#[test]
fn conditions_of_others_stay_and_a_source_cannot_bring_the_agents_own() {
    let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, "a-");
    of_others(&mut facts.pod, &[("Ready", "True"), ("example.com/lb", "True"), ("PodResizePending", "True")]);
    let conditions = facts.conditions();
    assert_eq!(conditions[0].type_, "example.com/lb");
    assert!(word(&conditions, "Ready").starts_with("False"));
    assert_eq!(word(&conditions, "PodResizePending"), "none");
    let ready = conditions.iter().filter(|condition| condition.type_ == "Ready").count();
    assert_eq!((ready, conditions.len()), (1, 6));
}

#[test]
fn a_disruption_is_not_forgotten() {
    let mut facts = Facts::of(pod("Always", &["a"]), Phase::Failed, "a-");
    let target = PodCondition {
        type_: DISRUPTION_TARGET.to_owned(),
        status: "True".to_owned(),
        reason: Some("TerminationByKubelet".to_owned()),
        last_transition_time: Some(Time(at(0))),
        ..PodCondition::default()
    };
    facts.previous = Some(PodStatus { conditions: Some(vec![target.clone()]), ..PodStatus::default() });
    // The source may know another one; the newest word is the agent's.
    of_others(&mut facts.pod, &[(DISRUPTION_TARGET, "False")]);
    let conditions = facts.conditions();
    let targets: Vec<_> = conditions.iter().filter(|c| c.type_ == DISRUPTION_TARGET).collect();
    assert_eq!(targets, [&target]);
}

#[test]
fn a_resize_shows_in_two_conditions_until_the_pod_ends() {
    let pending = |reason| ResizePending { reason, message: "no capacity".to_owned(), generation: Some(2) };
    let failed = ResizeInProgress { error: Some("the runtime said no".to_owned()), generation: Some(1) };
    let under_way = ResizeInProgress { error: None, generation: Some(1) };
    let cases = [
        (None, None, "none", "none"),
        (Some(pending(ResizePendingReason::Deferred)), None, "True Deferred: no capacity", "none"),
        (Some(pending(ResizePendingReason::Infeasible)), None, "True Infeasible: no capacity", "none"),
        (None, Some(under_way.clone()), "none", "True -: -"),
        (None, Some(failed), "none", "True Error: the runtime said no"),
        (
            Some(pending(ResizePendingReason::Deferred)),
            Some(under_way),
            "True Deferred: no capacity",
            "True -: -",
        ),
    ];
    for (pending, in_progress, expected_pending, expected_in_progress) in cases {
        let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, "a+");
        facts.resize = ResizeStatus { pending, in_progress };
        assert_eq!(facts.word("PodResizePending"), expected_pending);
        assert_eq!(facts.word("PodResizeInProgress"), expected_in_progress);
        facts.phase = Phase::Failed;
        assert_eq!(facts.word("PodResizePending"), "none");
        assert_eq!(facts.word("PodResizeInProgress"), "none");
    }
}

#[test]
fn a_resize_turns_with_its_reason() {
    let mut facts = Facts::of(pod("Always", &["a"]), Phase::Running, "a+");
    let mut times = Vec::new();
    let (deferred, infeasible) = (ResizePendingReason::Deferred, ResizePendingReason::Infeasible);
    for (now, reason) in [(1, deferred), (2, deferred), (3, infeasible), (4, infeasible), (5, deferred)] {
        facts.now = now;
        facts.resize.pending =
            Some(ResizePending { reason, message: format!("check {now}"), generation: None });
        let conditions = facts.conditions();
        let pending = conditions.iter().find(|condition| condition.type_ == resize::PENDING).unwrap();
        times.push(pending.last_transition_time.as_ref().unwrap().0.as_second() - at(0).as_second());
        facts.previous = Some(PodStatus { conditions: Some(conditions), ..PodStatus::default() });
    }
    assert_eq!(times, [1, 1, 3, 3, 5]);
}

#[test]
fn a_restart_of_all_containers_is_reported_where_a_rule_could_cause_one() {
    let mut facts = Facts::of(pod("Never", &["a"]), Phase::Running, "a-");
    facts.restarting_all = true;
    assert_eq!(facts.word("AllContainersRestarting"), "none", "no rule asks for it");
    let codes = ContainerRestartRuleOnExitCodes { operator: "In".to_owned(), values: Some(vec![42]) };
    let action = "RestartAllContainers".to_owned();
    spec(&mut facts.pod).containers[0].restart_policy_rules =
        Some(vec![ContainerRestartRule { action, exit_codes: Some(codes) }]);
    let cases = [
        (Phase::Pending, false, "False -"),
        (Phase::Running, false, "False -"),
        (Phase::Running, true, "True RestartAllContainersStarted"),
        (Phase::Failed, true, "False PodFailed"),
        (Phase::Succeeded, false, "False PodCompleted"),
    ];
    for (phase, restarting_all, expected) in cases {
        (facts.phase, facts.restarting_all) = (phase, restarting_all);
        assert!(facts.word("AllContainersRestarting").starts_with(expected), "{phase:?} {restarting_all}");
    }
}
