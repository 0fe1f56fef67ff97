//! Container restart rules and policies of containers' own (KEP-5307), and the restart of all containers (KEP-5532).

use super::{claims, plan_with, render};
use crate::container::backoff::{BackoffTable, CRASH};
use crate::container::plan::tests::language;
use crate::container::plan::{
    RemoveReason, RestartAction, Step, container_named, restart_rule, should_restart,
};
use crate::fixtures::at;
use crate::probe::ProbeResults;

#[test]
fn the_first_rule_that_matches_decides_then_the_containers_policy_then_the_pods() {
    let cases: &[(&str, i32, bool)] = &[
        ("Never a:x", 1, false),
        ("Never a:x:Always", 0, true),
        ("Never a:x:OnFailure", 1, true),
        ("Never a:x:OnFailure", 0, false),
        ("Always a:x:Never", 1, false),
        ("Always a:x:OnFailure", 0, false),
        ("OnFailure a:x:Never", 1, false),
        ("Never a:x:Never:in42=restart", 42, true),
        ("Never a:x:Never:in42=restart", 41, false),
        ("Never a:x:Never:in1,42=restart", 42, true),
        ("Never a:x:Never:notin0,1=restart", 42, true),
        ("Never a:x:Never:notin0,1=restart", 1, false),
        ("Always a:x:OnFailure:in0=restart", 0, true),
        ("Never a:x:Never:in42=all", 42, true),
        ("Never a:x:Never:in42=Sleep", 42, false),
        ("Never a:x::in42=restart", 42, false),
        ("Never i:x:Never:in3=restart a:y", 3, true),
    ];
    for (pod, exit_code, expected) in cases {
        let pod_made = language::pod(pod);
        let found = container_named(&pod_made, "x").unwrap();
        assert_eq!(should_restart(&pod_made, &found.container, *exit_code), *expected, "{pod}: {exit_code}");
    }
    let pod = language::pod("Never a:x:Never:in1=restart:notin0=all");
    let found = container_named(&pod, "x").unwrap();
    assert_eq!(restart_rule(&found.container, 1), Some(RestartAction::Restart));
    assert_eq!(restart_rule(&found.container, 2), Some(RestartAction::RestartAll));
    assert_eq!(restart_rule(&found.container, 0), None);
}

#[test]
fn app_containers_restart_by_their_rules() {
    claims(&[
        (
            "a rule matches under Never",
            "Never a:x:Never:in42=restart a:y",
            "ready x=exit42 y=running",
            &["start x #1"],
        ),
        ("none matches", "Never a:x:Never:in42=restart a:y", "ready x=exit1 y=running", &[]),
        (
            "none matches, and nothing else runs: the pod ends",
            "Never a:x:Never:in42=restart a:y",
            "ready x=exit1 y=exit0",
            &["kill pod PodEnds [] [s0]"],
        ),
        (
            "the container's own policy goes before the pod's",
            "Never a:x:Always a:y:OnFailure a:z",
            "ready x=exit0 y=exit1 z=exit1",
            &["start x #1", "start y #1"],
        ),
        ("also where it is stricter", "Always a:x:Never a:y", "ready x=exit1 y=running", &[]),
        (
            "a failed probe goes by the policy, because there is no exit code yet",
            "Never a:x:Never:in137=restart a:y:Always",
            "ready x=running/L-bad y=running/L-bad",
            &["kill x-0 LivenessProbe 30s, y-0 LivenessProbe 30s", "start y #1"],
        ),
    ]);
}

#[test]
fn init_containers_restart_by_their_rules() {
    claims(&[
        ("a rule matches", "Never i:one:Never:in42=restart a:x", "ready one=exit42", &["start one #1"]),
        (
            "none matches: the pod has failed",
            "Never i:one:Never:in42=restart a:x",
            "ready one=exit1",
            &["kill pod PodEnds [] [s0]"],
        ),
        ("its own policy under Never", "Never i:one:OnFailure a:x", "ready one=exit1", &["start one #1"]),
        (
            "its own Never under Always: the pod has failed",
            "Always i:one:Never a:x",
            "ready one=exit1",
            &["kill pod PodEnds [] [s0]"],
        ),
        (
            "unknown, but there are exit codes with which it would run again",
            "Never i:one:Never:in42=restart a:x",
            "ready one=unknown",
            &["kill one-0 Unknown 30s", "start one #1"],
        ),
    ]);
}

#[test]
fn a_pod_of_which_anything_may_restart_gets_another_sandbox() {
    let again = ["kill pod SandboxChanged [] [s0]", "sandbox 1", "start x #1"];
    claims(&[
        ("by a rule", "Never a:x:Never:in42=restart a:y", "dead x=exit42 y=exit0", &again),
        ("by its policy", "Never a:x:Always a:y", "dead x=exit0 y=exit0", &again),
        ("no rule matches how it ended", "Never a:x:Never:in42=restart a:y", "dead x=exit1 y=exit0", &[]),
        (
            "what ended and doesn't restart stays ended",
            "Always a:x a:y:Never",
            "dead x=running y=exit1",
            &["kill pod SandboxChanged [x-0] [s0]", "sandbox 1", "start x #1"],
        ),
    ]);
}

#[test]
fn all_containers_begin_again_in_the_same_sandbox() {
    claims(&[
        (
            "the others are stopped, all are removed, and init begins again",
            "Never i:one s:two a:x:Never:in42=all a:y",
            "ready x=exit42 y=running two=running one=exit0",
            &[
                "kill two-0 RestartAll 30s, y-0 RestartAll 30s",
                "remove RestartAll [y-0 two-0 one-0 x-0]",
                "start one #1",
            ],
        ),
        (
            "without init containers all app containers start",
            "Always a:x:OnFailure:in42=all a:y",
            "ready x=exit42 y=running",
            &["kill y-0 RestartAll 30s", "remove RestartAll [y-0 x-0]", "start x #1", "start y #1"],
        ),
        (
            "all have ended already",
            "Never a:x:Never:in42=all a:y",
            "ready y=exit0 x=exit42",
            &["remove RestartAll [y-0 x-0]", "start x #1", "start y #1"],
        ),
        (
            "an init container may ask for it",
            "Never i:one i:two:Never:in42=all a:x",
            "ready two=exit42 one=exit0",
            &["remove RestartAll [one-0 two-0]", "start one #1"],
        ),
        (
            "so may a sidecar",
            "Never s:one:Always:in42=all a:x",
            "ready x=running one=exit42",
            &["kill x-0 RestartAll 30s", "remove RestartAll [x-0 one-0]", "start one #1"],
        ),
    ]);
}

#[test]
fn the_restart_of_all_leaves_nothing_behind_and_touches_nothing_else() {
    claims(&[
        (
            "an interrupted removal goes on, because the one that asked is removed last",
            "Never i:one a:x:Never:in42=all a:y",
            "ready x#2=exit42",
            &["remove RestartAll [x-2]", "start one #0"],
        ),
        (
            "older instances go as well, and counts go on",
            "Never a:x:Never:in42=all a:y",
            "ready y#3=running x#1=exit42 x#0=exit1 y#2=exit1",
            &["kill y-3 RestartAll 30s", "remove RestartAll [y-3 x-0 y-2 x-1]", "start x #2", "start y #4"],
        ),
        (
            "an ephemeral container stays",
            "Never a:x:Never:in42=all e:debug",
            "ready debug=running x=exit42",
            &["remove RestartAll [x-0]", "start x #1"],
        ),
        (
            "a container whose state no one knows is stopped first",
            "Never a:x:Never:in42=all a:y",
            "ready x=exit42 y=unknown",
            &["kill y-0 RestartAll 30s", "remove RestartAll [y-0 x-0]", "start x #1", "start y #1"],
        ),
        (
            "an exit code that no rule has changes nothing",
            "Never a:x:Never:in42=all a:y",
            "ready x=exit1 y=running",
            &[],
        ),
        (
            "an instance that gave way to another one doesn't count",
            "Never a:x:Never:in42=all",
            "ready x#1=running x#0=exit42",
            &[],
        ),
        (
            "with a lost sandbox everything goes as well",
            "Never i:one a:x:Never:in42=all a:y",
            "dead x=exit42 y=running one=exit0",
            &[
                "kill pod SandboxChanged [y-0] [s0]",
                "remove RestartAll [y-0 one-0 x-0]",
                "sandbox 1",
                "start one #1",
            ],
        ),
    ]);
}

#[test]
fn the_restart_of_all_waits_for_the_delay_of_the_one_that_ended() {
    let pod = language::pod("Never i:one a:x:Never:in42=all a:y");
    let (seen, _) = language::seen(&pod, "ready x=exit42 y=running one=exit0");
    let mut backoff = BackoffTable::new(CRASH);
    let at_once = plan_with(&pod, &seen, &ProbeResults::new(), &backoff, 101);
    let crash = at_once.steps.iter().find_map(|step| match step {
        Step::RemoveContainers(remove) if remove.reason == RemoveReason::RestartAll => remove.crashes.first(),
        _ => None,
    });
    let crash = crash.expect("the end is reported before it is forgotten");
    assert_eq!(crash.finished_at, at(100));
    backoff.record(crash.key.clone(), at(90), at(95));
    let waiting = plan_with(&pod, &seen, &ProbeResults::new(), &backoff, 101);
    assert_eq!(render(&waiting), ["kill y-0 RestartAll 30s", "wait x 10s"]);
    let after = plan_with(&pod, &seen, &ProbeResults::new(), &backoff, 110);
    assert_eq!(
        render(&after),
        ["kill y-0 RestartAll 30s", "remove RestartAll [y-0 one-0 x-0]", "start one #1"]
    );
}

#[test]
fn what_is_stopped_for_all_to_begin_again_runs_no_pre_stop_hook() {
    use crate::container::plan::KillReason;
    assert!(!KillReason::RestartAll.runs_pre_stop());
    assert!(KillReason::PodEnds.runs_pre_stop() && KillReason::LivenessProbe.runs_pre_stop());
}
