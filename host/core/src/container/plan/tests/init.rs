//! Init containers: upstream's table of pod actions with them, and rules beyond it.

use super::{claims, render};
use crate::container::plan::tests::language;

const PODS: [&str; 3] = [
    "Always i:one i:two i:three a:x a:y a:z",
    "OnFailure i:one i:two i:three a:x a:y a:z",
    "Never i:one i:two i:three a:x a:y a:z",
];

#[test]
fn init_containers_run_one_after_the_other() {
    let [always, on_failure, never] = PODS;
    claims(&[
        (
            "all done: the app containers start",
            always,
            "ready three=exit0 two=exit0 one=exit0",
            &["start x #0", "start y #0", "start z #0"],
        ),
        ("a sandbox alone: the first one starts", always, "ready", &["start one #0"]),
        ("the same under OnFailure", on_failure, "ready", &["start one #0"]),
        ("the same under Never", never, "ready", &["start one #0"]),
        ("a new pod: a sandbox and the first one", always, "none", &["sandbox 0", "start one #0"]),
        ("one is done: the next one starts", always, "ready one=exit0", &["start two #0"]),
        ("the last one runs: nothing to do", always, "ready three=running two=exit0 one=exit0", &[]),
        ("the first one runs: nothing to do", never, "ready one=running", &[]),
        (
            "those before the last known one are forgotten: they don't run again",
            always,
            "ready three=running",
            &[],
        ),
        (
            "only the last one is known, and is done: the app containers start",
            never,
            "ready three=exit0",
            &["start x #0", "start y #0", "start z #0"],
        ),
        (
            "the middle one alone is known, and is done: the last one starts",
            on_failure,
            "ready two=exit0",
            &["start three #0"],
        ),
    ]);
}

#[test]
fn a_failed_init_container_runs_again_as_the_policy_says() {
    let [always, on_failure, never] = PODS;
    claims(&[
        ("Always", always, "ready three=exit1 two=exit0 one=exit0", &["start three #1"]),
        ("OnFailure", on_failure, "ready three=exit1 two=exit0 one=exit0", &["start three #1"]),
        (
            "Never: the pod has failed",
            never,
            "ready three=exit1 two=exit0 one=exit0",
            &["kill pod PodEnds [] [s0]"],
        ),
        ("the first one under Never", never, "ready one=exit2", &["kill pod PodEnds [] [s0]"]),
        ("its count goes on", always, "ready one#4=exit1", &["start one #5"]),
    ]);
}

#[test]
fn an_init_container_in_an_unknown_state_is_killed_and_started_again_where_it_may() {
    let [always, on_failure, never] = PODS;
    let seen = "ready three=unknown two=exit0 one=exit0";
    claims(&[
        ("Always", always, seen, &["kill three-0 Unknown 30s", "start three #1"]),
        ("OnFailure", on_failure, seen, &["kill three-0 Unknown 30s", "start three #1"]),
        ("Never: the pod has failed", never, seen, &["kill pod PodEnds [three-0] [s0]"]),
    ]);
}

#[test]
fn an_init_container_that_was_made_but_not_started_is_made_again() {
    for pod in PODS {
        claims(&[("created", pod, "ready three=created two=exit0 one=exit0", &["start three #1"])]);
    }
}

#[test]
fn a_lost_sandbox_begins_with_the_first_init_container() {
    let [always, on_failure, never] = PODS;
    let failed = "dead two=exit1 one=exit0";
    claims(&[
        (
            "all done before: they all run again",
            always,
            "dead three=exit0 two=exit0 one=exit0",
            &[
                "kill pod SandboxChanged [] [s0]",
                "remove NewSandbox [three-0 two-0 one-0]",
                "sandbox 1",
                "start one #1",
            ],
        ),
        (
            "app containers ran: they wait for the init containers again",
            always,
            "dead x=running y=running three=exit0",
            &[
                "kill pod SandboxChanged [x-0 y-0] [s0]",
                "remove NewSandbox [three-0]",
                "sandbox 1",
                "start one #0",
            ],
        ),
        (
            "one failed under OnFailure: a new sandbox",
            on_failure,
            failed,
            &[
                "kill pod SandboxChanged [] [s0]",
                "remove NewSandbox [two-0 one-0]",
                "sandbox 1",
                "start one #1",
            ],
        ),
        ("one failed under Never: the pod is done", never, failed, &[]),
        (
            "one runs under Never: the pod is killed and gets no other sandbox",
            never,
            "dead one=running",
            &["kill pod SandboxChanged [one-0] [s0]"],
        ),
        (
            "no container was ever made under Never: the sandbox is tried again",
            never,
            "dead",
            &["kill pod SandboxChanged [] [s0]", "sandbox 1", "start one #0"],
        ),
        (
            "all app containers succeeded under OnFailure: nothing is left to do",
            on_failure,
            "dead x=exit0 y=exit0 z=exit0 three=exit0",
            &[],
        ),
    ]);
}

#[test]
fn an_ended_app_container_of_an_earlier_sandbox_does_not_mean_that_init_is_done() {
    let pod = PODS[0];
    claims(&[
        ("ended", pod, "ready one=running x=exit255 y=exit255 z=exit255", &[]),
        ("ended, and nothing of init", pod, "ready x=exit255 y=exit255 z=exit255", &["start one #0"]),
    ]);
}

#[test]
fn running_app_containers_mean_that_init_is_done() {
    let pod = PODS[1];
    claims(&[
        ("init containers are forgotten", pod, "ready x=running y=running z=exit1", &["start z #1"]),
        (
            "one that failed last doesn't matter any more",
            pod,
            "ready x=running y=running z=running two=exit1",
            &[],
        ),
        (
            "a created app container counts as well",
            pod,
            "ready x=created",
            &["start x #1", "start y #0", "start z #0"],
        ),
    ]);
}

#[test]
fn init_containers_of_another_sandbox_do_not_count() {
    let pod = language::pod("Always i:one i:two a:x");
    let (mut seen, _) = language::seen(&pod, "ready two=exit0 one=exit0");
    for container in &mut seen.containers {
        container.sandbox_id = Some("an older one".into());
    }
    assert_eq!(render(&super::plan_of(&pod, &seen, &[])), ["start one #1"]);
    for container in &mut seen.containers {
        container.sandbox_id = Some("s0".into());
    }
    assert_eq!(render(&super::plan_of(&pod, &seen, &[])), ["start x #0"]);
}

#[test]
fn of_each_init_container_only_the_last_end_is_kept() {
    claims(&[
        (
            "older ends are removed before anything starts",
            PODS[0],
            "ready one#2=exit1 one#1=exit1 one#0=exit1",
            &["remove Pruned [one-1 one-0]", "start one #3"],
        ),
        (
            "also while a newer instance runs",
            PODS[0],
            "ready one#2=running one#1=exit1 one#0=exit1",
            &["remove Pruned [one-0]"],
        ),
        (
            "app containers are left to the garbage collection",
            "Always a:x",
            "ready x#1=running x#0=exit1",
            &[],
        ),
    ]);
}
