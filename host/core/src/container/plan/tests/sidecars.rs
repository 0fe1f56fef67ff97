//! Sidecars: upstream's table of pod actions with restartable init containers, and rules beyond it.

use super::{claims, render};
use crate::container::plan::tests::language;
use crate::container::plan::{Step, plan_kill};
use crate::fixtures::spec;

const POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

#[test]
fn sidecars_start_one_after_the_other_and_then_the_app_containers() {
    let pod = "Always s:one s:two s:three a:x a:y";
    claims(&[
        ("a sandbox alone: the first one starts", pod, "ready", &["start one #0"]),
        ("one runs: the next one starts", pod, "ready one=running", &["start two #0"]),
        (
            "all run: the app containers start",
            pod,
            "ready three=running two=running one=running",
            &["start x #0", "start y #0"],
        ),
        (
            "an init container after a sidecar starts once that runs",
            "Never s:one i:two a:x",
            "ready one=running",
            &["start two #0"],
        ),
        (
            "a sidecar after an init container starts once that has ended",
            "Never i:one s:two a:x",
            "ready one=exit0",
            &["start two #0"],
        ),
        ("and not before", "Never i:one s:two a:x", "ready one=running", &[]),
    ]);
}

#[test]
fn the_next_container_waits_for_a_sidecars_startup_probe() {
    let pod = "Always s:one+S s:two a:x";
    claims(&[
        ("no result yet", pod, "ready one=running", &[]),
        ("it is still being probed", pod, "ready one=running/S-wait", &[]),
        ("it succeeded", pod, "ready one=running/S-ok", &["start two #0"]),
        (
            "it failed: the sidecar is killed and started again",
            pod,
            "ready one=running/S-bad",
            &["kill one-0 StartupProbe 30s", "start one #1"],
        ),
        ("the last sidecar's holds up the app containers", "Always s:one+S a:x", "ready one=running", &[]),
        ("until it succeeds", "Always s:one+S a:x", "ready one=running/S-ok", &["start x #0"]),
    ]);
}

#[test]
fn a_sidecars_liveness_probe_holds_no_one_up() {
    let pod = "Always s:one+L s:two a:x";
    claims(&[
        ("no result yet", pod, "ready one=running", &["start two #0"]),
        ("it is still being probed", pod, "ready one=running/L-wait", &["start two #0"]),
        ("it succeeds", pod, "ready one=running/L-ok", &["start two #0"]),
        (
            "it failed: the sidecar starts again, and so does the next one",
            pod,
            "ready one=running/L-bad",
            &["kill one-0 LivenessProbe 30s", "start one #1", "start two #0"],
        ),
        (
            "the same while the app runs",
            "Never s:one+L a:x",
            "ready one=running/L-bad x=running",
            &["kill one-0 LivenessProbe 30s", "start one #1"],
        ),
        (
            "liveness doesn't count before the startup probe succeeded",
            "Always s:one+S+L a:x",
            "ready one=running/S-wait/L-bad",
            &[],
        ),
    ]);
}

#[test]
fn a_sidecar_that_ended_starts_again_whatever_the_policy_and_its_exit_code() {
    for policy in POLICIES {
        let pod = format!("{policy} s:one s:two a:x");
        claims(&[
            ("failed during init", &pod, "ready two=exit137 one=running", &["start two #1"]),
            ("ended well during init", &pod, "ready two=exit0 one=running", &["start two #1"]),
            (
                "an earlier one during init: both go on",
                &pod,
                "ready two=running one=exit1",
                &["start one #1", "start x #0"],
            ),
            ("while the app runs", &pod, "ready x=running two=running one=exit1", &["start one #1"]),
            (
                "several at once, in their order",
                &pod,
                "ready x=running two=exit0 one=exit1",
                &["start one #1", "start two #1"],
            ),
            ("created, and never started", &pod, "ready two=created one=running", &["start two #1"]),
        ]);
    }
}

#[test]
fn a_sidecar_in_an_unknown_state_is_killed_and_started_again_whatever_the_policy() {
    for policy in POLICIES {
        let pod = format!("{policy} s:one s:two a:x");
        claims(&[
            (
                "during init",
                &pod,
                "ready two=unknown one=running",
                &["kill two-0 Unknown 30s", "start two #1"],
            ),
            (
                "while the app runs",
                &pod,
                "ready x=running two=running one=unknown",
                &["kill one-0 Unknown 30s", "start one #1"],
            ),
        ]);
    }
}

#[test]
fn a_sidecar_that_nothing_is_known_of_starts_once_the_pod_is_past_it() {
    claims(&[
        ("past it", "Always s:one i:two s:three a:x", "ready three=running", &["start one #0", "start x #0"]),
        ("the app runs", "Never s:one s:two a:x", "ready x=running two=running", &["start one #0"]),
        ("not past it", "Always i:one s:two s:three a:x", "ready one=running", &[]),
    ]);
}

#[test]
fn a_changed_sidecar_starts_again() {
    for policy in POLICIES {
        let mut pod = language::pod(&format!("{policy} s:one s:two a:x"));
        let (seen, _) = language::seen(&pod, "ready x=running two=running one=running");
        spec(&mut pod).init_containers.as_mut().unwrap()[0].image = Some("newer".to_owned());
        let plan = super::plan_of(&pod, &seen, &[]);
        assert_eq!(render(&plan), ["kill one-0 SpecChanged 30s", "start one #1"]);
        let Step::KillContainers(kills) = &plan.steps[0] else { panic!("it is killed first") };
        assert_eq!(kills[0].message, "Init container one definition changed, will be restarted");
    }
}

#[test]
fn sidecars_end_with_the_app_containers() {
    let seen = "ready x=exit0 y=exit0 two=running one=running";
    claims(&[
        (
            "all succeeded under OnFailure",
            "OnFailure s:one s:two a:x a:y",
            seen,
            &["kill pod PodEnds [two-0 one-0<two-0] [s0]"],
        ),
        (
            "all ended under Never",
            "Never s:one s:two a:x a:y",
            seen,
            &["kill pod PodEnds [two-0 one-0<two-0] [s0]"],
        ),
        (
            "one that ended isn't started again then",
            "Never s:one s:two a:x a:y",
            "ready x=exit0 y=exit1 two=running one=exit1",
            &["kill pod PodEnds [two-0] [s0]"],
        ),
        (
            "an app container that runs keeps them",
            "Never s:one s:two a:x a:y",
            "ready x=exit0 y=running two=running one=running",
            &[],
        ),
        (
            "one that starts again keeps them",
            "OnFailure s:one a:x",
            "ready x=exit1 one=running",
            &["start x #1"],
        ),
    ]);
}

#[test]
fn a_failed_init_container_ends_the_sidecars_before_it() {
    claims(&[
        ("Never", "Never s:one i:two a:x", "ready two=exit1 one=running", &["kill pod PodEnds [one-0] [s0]"]),
        (
            "OnFailure: it runs again next to them",
            "OnFailure s:one i:two a:x",
            "ready two=exit1 one=running",
            &["start two #1"],
        ),
        (
            "a sidecar that ended meanwhile starts with it",
            "OnFailure s:one i:two a:x",
            "ready two=exit1 one=exit1",
            &["start one #1", "start two #1"],
        ),
    ]);
}

#[test]
fn a_lost_sandbox_begins_with_the_first_sidecar() {
    let starts = |containers: &str, one: &str| {
        vec![
            format!("kill pod SandboxChanged [{containers}] [s0]"),
            "remove NewSandbox [two-0 one-0]".to_owned(),
            "sandbox 1".to_owned(),
            one.to_owned(),
        ]
    };
    let check = |pod: &str, seen: &str, expected: Vec<String>| {
        let pod = language::pod(pod);
        let (seen, _) = language::seen(&pod, seen);
        assert_eq!(render(&super::plan_of(&pod, &seen, &[])), expected);
    };
    check(
        "Always s:one s:two a:x",
        "dead x=running two=running one=running",
        starts("x-0 two-0<x-0 one-0<x-0+two-0", "start one #1"),
    );
    check("OnFailure s:one s:two a:x", "dead two=exit1 one=running", starts("one-0", "start one #1"));
    claims(&[
        (
            "a sidecar doesn't make a pod that never restarts get another sandbox",
            "Never s:one s:two a:x",
            "dead two=exit1 one=running",
            &["kill pod SandboxChanged [one-0] [s0]"],
        ),
        (
            "unless nothing of it was ever made",
            "Never s:one s:two a:x",
            "dead",
            &["kill pod SandboxChanged [] [s0]", "sandbox 1", "start one #0"],
        ),
    ]);
}

#[test]
fn sidecars_end_after_the_app_containers_in_reverse_order() {
    let pod = language::pod("Always s:one i:setup s:two s:three a:x a:y e:debug");
    let (seen, _) =
        language::seen(&pod, "ready debug=running x=running y=running three=running two=running one=running");
    let plan = plan_kill(Some(&pod), &seen, 20);
    let expected = "kill pod PodEnds [debug-0 x-0 y-0 three-0<x-0+y-0 two-0<x-0+y-0+three-0 \
                    one-0<x-0+y-0+three-0+two-0] [s0]";
    assert_eq!(render(&plan), [expected]);
    let Step::KillPod(kill) = &plan.steps[0] else { panic!("a pod is killed as a whole") };
    assert!(kill.containers.iter().all(|container| container.grace_seconds == 20), "the grace is shared");
}

#[test]
fn no_one_waits_for_a_container_that_does_not_run() {
    let pod = language::pod("Never s:one s:two a:x a:y");
    let (seen, _) = language::seen(&pod, "ready x=exit0 y=running two=exit1 one=running");
    assert_eq!(render(&plan_kill(Some(&pod), &seen, 20)), ["kill pod PodEnds [y-0 one-0<y-0] [s0]"]);
    assert_eq!(
        render(&plan_kill(None, &seen, 20)),
        ["kill pod PodEnds [y-0 one-0] [s0]"],
        "without a spec there is no order"
    );
}
