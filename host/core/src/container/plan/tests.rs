//! Tests of the plan: the kubelet's tables of pod actions as cases of our own, rules beyond them, and what holds for any
//! pod. This file has the base table; the folder has the others.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use super::*;
use crate::container::backoff::{BackoffKey, BackoffTable, CRASH};
use crate::fixtures::{
    at, exited, first, in_dead_sandbox, in_sandbox, instance, observed, pod, running, sandbox, spec,
};
use crate::probe::{ContainerProbes, ProbeResult, ProbeResults};
use crate::runtime::{
    ContainerId, ContainerRunState, NamespaceMode, ObservedContainer, ObservedPod, SandboxId, SandboxState,
};

mod adopted;
mod convergence;
mod ephemeral;
mod init;
mod language;
mod resize;
mod rules;
mod sidecars;
mod start;
mod without_changes;

const NOW: i64 = 1_000;

fn render(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(render_step).collect()
}

fn render_step(step: &Step) -> String {
    match step {
        Step::KillPod(kill) => {
            let containers: Vec<_> = kill.containers.iter().map(render_in_pod).collect();
            let sandboxes: Vec<_> = kill.sandboxes.iter().map(SandboxId::as_str).collect();
            format!("kill pod {:?} [{}] [{}]", kill.reason, containers.join(" "), sandboxes.join(" "))
        }
        Step::KillContainers(kills) => {
            let kills: Vec<_> = kills
                .iter()
                .map(|kill| format!("{} {:?} {}s", kill.id, kill.reason, kill.grace_seconds))
                .collect();
            format!("kill {}", kills.join(", "))
        }
        Step::RemoveContainers(remove) => {
            let ids: Vec<_> = remove.containers.iter().map(|container| container.id.as_str()).collect();
            format!("remove {:?} [{}]", remove.reason, ids.join(" "))
        }
        Step::CreateSandbox { attempt } => format!("sandbox {attempt}"),
        Step::StartContainer(start) => format!("start {} #{}", start.name, start.restart_count),
        Step::WaitBackoff { container, wait, .. } => format!("wait {container} {}s", wait.delay.as_secs()),
        Step::ResizeContainer(resize) => format!("resize {} {:?}", resize.id, resize.resource),
        Step::ResizePod(resize) => format!("resize pod {:?} {}", resize.knob, resize.value),
    }
}

/// With what it waits for, if it does: `proxy-0<app-0`.
fn render_in_pod(kill: &KillContainer) -> String {
    let before: Vec<_> = kill.stop_after.iter().map(ContainerId::as_str).collect();
    if before.is_empty() { kill.id.to_string() } else { format!("{}<{}", kill.id, before.join("+")) }
}

/// A probe that failed for good.
#[derive(Clone, Copy, Debug)]
enum Failed {
    Liveness,
    Startup,
}

fn probes(failures: &[(&str, Failed)]) -> ProbeResults {
    let of = |failed: &Failed| match failed {
        Failed::Liveness => {
            ContainerProbes { liveness: Some(ProbeResult::Failure), ..ContainerProbes::default() }
        }
        Failed::Startup => {
            ContainerProbes { startup: Some(ProbeResult::Failure), ..ContainerProbes::default() }
        }
    };
    failures.iter().map(|(id, failed)| (ContainerId::from(*id), of(failed))).collect()
}

fn plan_of(pod: &Pod, observed: &ObservedPod, failures: &[(&str, Failed)]) -> Plan {
    plan_with(pod, observed, &probes(failures), &BackoffTable::new(CRASH), NOW)
}

fn plan_with(
    pod: &Pod,
    observed: &ObservedPod,
    probes: &ProbeResults,
    backoff: &BackoffTable,
    now: i64,
) -> Plan {
    let restart_counts = &BTreeMap::new();
    plan(PlanInput { pod, observed, backoff, probes, restart_counts, resize: None, now: at(now) })
}

/// A claim, a pod and what is seen of it in the words of [`language`], and the steps that follow.
type Claim<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

#[track_caller]
fn claims(claims: &[Claim<'_>]) {
    for (claim, pod, seen, expected) in claims {
        let made = language::pod(pod);
        let (observed, probes) = language::seen(&made, seen);
        let plan = plan_with(&made, &observed, &probes, &BackoffTable::new(CRASH), NOW);
        assert_eq!(render(&plan), *expected, "{claim}: {pod}, {seen}");
    }
}

#[track_caller]
fn check(pod: &Pod, observed: &ObservedPod, expected: &[&str]) {
    assert_eq!(render(&plan_of(pod, observed, &[])), expected);
}

const THREE: [&str; 3] = ["a", "b", "c"];

fn all_running(pod: &Pod) -> Vec<ObservedContainer> {
    THREE.iter().map(|name| running(pod, name)).collect()
}

#[test]
fn a_pod_that_is_as_it_should_be_needs_nothing() {
    let pod = pod("Always", &THREE);
    let plan = plan_of(&pod, &in_sandbox(all_running(&pod)), &[]);
    assert_eq!(plan, Plan { sandbox: Some("s0".into()), ..Plan::default() });
}

#[test]
fn a_new_pod_gets_its_sandbox_and_all_containers() {
    for policy in ["Always", "OnFailure", "Never"] {
        let expected = ["sandbox 0", "start a #0", "start b #0", "start c #0"];
        check(&pod(policy, &THREE), &observed(vec![], vec![]), &expected);
    }
}

#[test]
fn a_sandbox_without_containers_gets_them_all() {
    for policy in ["Always", "OnFailure", "Never"] {
        check(&pod(policy, &THREE), &in_sandbox(vec![]), &["start a #0", "start b #0", "start c #0"]);
    }
}

#[test]
fn ended_containers_restart_as_the_policy_says() {
    let cases: [(&str, &[&str]); 3] =
        [("Always", &["start a #1", "start b #1"]), ("OnFailure", &["start b #1"]), ("Never", &[])];
    for (policy, expected) in cases {
        let pod = pod(policy, &THREE);
        let seen = in_sandbox(vec![exited(&pod, "a", 0), exited(&pod, "b", 1), running(&pod, "c")]);
        check(&pod, &seen, expected);
    }
}

#[test]
fn a_dead_sandbox_restarts_everything_under_always() {
    let pod = pod("Always", &THREE);
    let expected =
        ["kill pod SandboxChanged [a-0 b-0 c-0] [s0]", "sandbox 1", "start a #1", "start b #1", "start c #1"];
    check(&pod, &in_dead_sandbox(all_running(&pod)), &expected);
}

#[test]
fn a_dead_sandbox_restarts_all_but_the_succeeded_under_on_failure() {
    let pod = pod("OnFailure", &THREE);
    let seen = in_dead_sandbox(vec![running(&pod, "a"), exited(&pod, "b", 0), exited(&pod, "c", 1)]);
    check(&pod, &seen, &["kill pod SandboxChanged [a-0] [s0]", "sandbox 1", "start a #1", "start c #1"]);
}

#[test]
fn a_dead_sandbox_ends_a_pod_that_never_restarts() {
    let pod = pod("Never", &THREE);
    let seen = in_dead_sandbox(vec![running(&pod, "a"), exited(&pod, "b", 0)]);
    check(&pod, &seen, &["kill pod SandboxChanged [a-0] [s0]"]);
}

#[test]
fn a_sandbox_that_failed_before_any_container_came_is_tried_again_under_never() {
    let expected = ["kill pod SandboxChanged [] [s0]", "sandbox 1", "start a #0", "start b #0", "start c #0"];
    check(&pod("Never", &THREE), &in_dead_sandbox(vec![]), &expected);
}

#[test]
fn a_pod_that_never_restarts_begins_again_if_no_sandbox_is_known() {
    let pod = pod("Never", &["a"]);
    check(&pod, &observed(vec![], vec![exited(&pod, "a", 1)]), &["sandbox 0", "start a #1"]);
}

#[test]
fn a_pod_of_which_all_is_done_gets_no_other_sandbox() {
    let never = pod("Never", &THREE);
    let all_done = |pod: &Pod, code| THREE.iter().map(|name| exited(pod, name, code)).collect();
    check(&never, &in_dead_sandbox(all_done(&never, 1)), &[]);
    let on_failure = pod("OnFailure", &THREE);
    check(&on_failure, &in_dead_sandbox(all_done(&on_failure, 0)), &[]);
    // The same if the runtime has forgotten the sandbox itself.
    check(&on_failure, &observed(vec![], all_done(&on_failure, 0)), &[]);
}

#[test]
fn a_pod_of_which_all_failed_gets_another_sandbox_under_on_failure() {
    let pod = pod("OnFailure", &["a"]);
    let seen = in_dead_sandbox(vec![exited(&pod, "a", 1)]);
    check(&pod, &seen, &["kill pod SandboxChanged [] [s0]", "sandbox 1", "start a #1"]);
}

#[test]
fn a_sandbox_without_an_address_is_replaced() {
    let pod = pod("Always", &["a"]);
    let mut seen = in_sandbox(vec![running(&pod, "a")]);
    seen.sandboxes[0].ips.clear();
    check(&pod, &seen, &["kill pod SandboxChanged [a-0] [s0]", "sandbox 1", "start a #1"]);
}

#[test]
fn a_sandbox_on_the_host_network_needs_no_address() {
    let mut pod = pod("Always", &["a"]);
    spec(&mut pod).host_network = Some(true);
    let mut seen = in_sandbox(vec![running(&pod, "a")]);
    seen.sandboxes[0].ips.clear();
    seen.sandboxes[0].network = NamespaceMode::Node;
    check(&pod, &seen, &[]);
}

#[test]
fn a_sandbox_on_another_network_than_the_spec_asks_for_is_replaced() {
    let mut pod = pod("Always", &["a"]);
    spec(&mut pod).host_network = Some(true);
    let seen = in_sandbox(vec![running(&pod, "a")]);
    check(&pod, &seen, &["kill pod SandboxChanged [a-0] [s0]", "sandbox 1", "start a #1"]);
}

#[test]
fn two_ready_sandboxes_are_replaced_by_one() {
    let pod = pod("Always", &["a"]);
    let sandboxes = vec![sandbox(4, SandboxState::Ready), sandbox(3, SandboxState::Ready)];
    let seen = observed(sandboxes, vec![running(&pod, "a")]);
    check(&pod, &seen, &["kill pod SandboxChanged [a-0] [s4 s3]", "sandbox 5", "start a #1"]);
}

#[test]
fn a_sandbox_that_cannot_stay_has_a_fault_and_any_other_has_none() {
    use sandbox::{SandboxFault, fault};
    type Spoil = fn(&mut ObservedPod);
    let cases: &[(Spoil, Option<SandboxFault>)] = &[
        (|_| {}, None),
        (|seen| seen.sandboxes.clear(), None),
        (|seen| seen.sandboxes.push(sandbox(0, SandboxState::NotReady)), None),
        (|seen| seen.sandboxes[0].state = SandboxState::NotReady, Some(SandboxFault::NotReady)),
        (|seen| seen.sandboxes.push(sandbox(0, SandboxState::Ready)), Some(SandboxFault::SeveralReady)),
        (|seen| seen.sandboxes[0].network = NamespaceMode::Node, Some(SandboxFault::OtherNetwork)),
        (|seen| seen.sandboxes[0].ips.clear(), Some(SandboxFault::NoAddress)),
    ];
    let pod = pod("Always", &["a"]);
    for (index, (spoil, expected)) in cases.iter().enumerate() {
        let mut seen = in_sandbox(vec![running(&pod, "a")]);
        spoil(&mut seen);
        assert_eq!(fault(&pod, &seen), *expected, "case {index}");
    }
}

#[test]
fn an_older_dead_sandbox_next_to_the_ready_one_does_not_matter() {
    let pod = pod("Always", &["a"]);
    let sandboxes = vec![sandbox(4, SandboxState::Ready), sandbox(3, SandboxState::NotReady)];
    check(&pod, &observed(sandboxes, vec![running(&pod, "a")]), &[]);
}

#[test]
fn a_ready_sandbox_that_is_not_the_newest_is_replaced() {
    let pod = pod("Always", &["a"]);
    let sandboxes = vec![sandbox(4, SandboxState::NotReady), sandbox(3, SandboxState::Ready)];
    let seen = observed(sandboxes, vec![running(&pod, "a")]);
    check(&pod, &seen, &["kill pod SandboxChanged [a-0] [s4 s3]", "sandbox 5", "start a #1"]);
}

#[test]
fn a_changed_container_restarts_whatever_the_policy_and_the_others_stay() {
    for policy in ["Always", "OnFailure", "Never"] {
        let mut pod = pod(policy, &THREE);
        let seen = in_sandbox(all_running(&pod));
        spec(&mut pod).containers[1].image = Some("newer".to_owned());
        check(&pod, &seen, &["kill b-0 SpecChanged 30s", "start b #1"]);
    }
}

#[test]
fn a_container_without_a_hash_is_left_alone() {
    let pod = pod("Always", &["a"]);
    let seen = ObservedContainer { spec_hash: None, ..running(&pod, "a") };
    check(&pod, &in_sandbox(vec![seen]), &[]);
}

#[test]
fn a_container_that_failed_a_probe_restarts_as_the_policy_says() {
    let cases: [(&str, Failed, &[&str]); 4] = [
        ("Always", Failed::Liveness, &["kill b-0 LivenessProbe 30s", "start b #1"]),
        ("OnFailure", Failed::Startup, &["kill b-0 StartupProbe 30s", "start b #1"]),
        ("Never", Failed::Liveness, &["kill b-0 LivenessProbe 30s"]),
        ("Never", Failed::Startup, &["kill b-0 StartupProbe 30s"]),
    ];
    for (policy, failure, expected) in cases {
        let pod = pod(policy, &THREE);
        let plan = plan_of(&pod, &in_sandbox(all_running(&pod)), &[("b-0", failure)]);
        assert_eq!(render(&plan), expected, "{policy} {failure:?}");
    }
}

#[test]
fn the_failed_probe_of_an_earlier_instance_does_not_count() {
    let pod = pod("Always", &["a"]);
    let seen = in_sandbox(vec![instance(&pod, "a", 1, ContainerRunState::Running)]);
    assert_eq!(render(&plan_of(&pod, &seen, &[("a-0", Failed::Liveness)])), [""; 0]);
}

#[test]
fn the_last_container_that_fails_its_probe_under_never_ends_the_pod() {
    let pod = pod("Never", &["a"]);
    let plan = plan_of(&pod, &in_sandbox(vec![running(&pod, "a")]), &[("a-0", Failed::Liveness)]);
    assert_eq!(render(&plan), ["kill pod PodEnds [a-0] [s0]"]);
}

#[test]
fn a_probe_may_set_the_grace_of_its_own_kill_and_a_deletion_overrides_it() {
    let mut pod = pod("Always", &["a"]);
    let mut kill = |probe_grace, deletion_grace| {
        first(&mut pod).liveness_probe = Some(k8s_openapi::api::core::v1::Probe {
            termination_grace_period_seconds: probe_grace,
            ..Default::default()
        });
        pod.metadata.deletion_grace_period_seconds = deletion_grace;
        let seen = in_sandbox(vec![running(&pod, "a")]);
        render(&plan_of(&pod, &seen, &[("a-0", Failed::Liveness)])).remove(0)
    };
    assert_eq!(kill(Some(5), None), "kill a-0 LivenessProbe 5s");
    assert_eq!(kill(Some(1), None), "kill a-0 LivenessProbe 2s");
    assert_eq!(kill(None, None), "kill a-0 LivenessProbe 30s");
    assert_eq!(kill(Some(5), Some(9)), "kill a-0 LivenessProbe 9s");
}

#[test]
fn a_container_in_an_unknown_state_is_killed_before_it_is_started() {
    for policy in ["Always", "OnFailure", "Never"] {
        let pod = pod(policy, &["a", "b"]);
        let seen = in_sandbox(vec![instance(&pod, "a", 0, ContainerRunState::Unknown), running(&pod, "b")]);
        check(&pod, &seen, &["kill a-0 Unknown 30s", "start a #1"]);
    }
}

#[test]
fn a_container_that_was_made_but_never_started_is_made_again() {
    for policy in ["Always", "OnFailure", "Never"] {
        let pod = pod(policy, &["a"]);
        check(&pod, &in_sandbox(vec![instance(&pod, "a", 0, ContainerRunState::Created)]), &["start a #1"]);
    }
}

#[test]
fn nothing_kept_and_nothing_to_start_ends_the_pod() {
    let pod = pod("Never", &["a", "b"]);
    let seen = in_sandbox(vec![exited(&pod, "a", 0), exited(&pod, "b", 1)]);
    check(&pod, &seen, &["kill pod PodEnds [] [s0]"]);
}

#[test]
fn one_container_kept_keeps_the_pod() {
    let pod = pod("Never", &["a", "b"]);
    check(&pod, &in_sandbox(vec![exited(&pod, "a", 1), running(&pod, "b")]), &[]);
}

#[test]
fn a_container_that_left_the_spec_is_killed() {
    let mut pod = pod("Always", &["a", "b"]);
    let seen = in_sandbox(vec![running(&pod, "a"), running(&pod, "b")]);
    spec(&mut pod).containers.pop();
    check(&pod, &seen, &["kill b-0 NotInSpec 30s"]);
}

#[test]
fn an_older_instance_that_still_runs_is_killed_and_the_newest_kept() {
    let pod = pod("Always", &["a"]);
    let seen = in_sandbox(vec![instance(&pod, "a", 1, ContainerRunState::Running), running(&pod, "a")]);
    check(&pod, &seen, &["kill a-0 Superseded 30s"]);
}

#[test]
fn a_deleted_pod_starts_nothing() {
    let mut pod = pod("Always", &["a", "b"]);
    let seen = in_sandbox(vec![running(&pod, "a"), exited(&pod, "b", 1)]);
    pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(0)));
    check(&pod, &seen, &[]);
    check(&pod, &observed(vec![], vec![]), &[]);
    check(&pod, &in_dead_sandbox(vec![]), &[]);
}

#[test]
fn the_restart_count_goes_on_from_the_newest_instance() {
    let pod = pod("Always", &["a"]);
    let old = exited(&pod, "a", 1);
    let new = instance(&pod, "a", 7, ContainerRunState::Exited);
    check(&pod, &in_sandbox(vec![new, old]), &["start a #8"]);
}

#[test]
fn a_crashed_container_waits_for_its_delay_and_then_starts() {
    let pod = pod("Always", &["a", "b"]);
    let seen = in_sandbox(vec![exited(&pod, "a", 1), running(&pod, "b")]);
    let mut backoff = BackoffTable::new(CRASH);
    let key = BackoffKey::of(&pod, &app_containers(&pod)[0]);
    backoff.record(key.clone(), at(90), at(95));
    let plan_at = |now| plan_with(&pod, &seen, &ProbeResults::new(), &backoff, now);
    let waiting = plan_at(105);
    assert_eq!(render(&waiting), ["wait a 10s"]);
    assert_eq!(waiting.retry_at(), Some(at(110)), "counted from the end of the instance at 100");
    let starting = plan_at(110);
    let crash = Some(Crash { key, finished_at: at(100) });
    let start =
        StartContainer { kind: ContainerKind::App, index: 0, name: "a".to_owned(), restart_count: 1, crash };
    assert_eq!(starting.steps, [Step::StartContainer(start)]);
    assert_eq!(starting.retry_at(), None);
}

#[test]
fn the_earliest_delay_says_when_to_come_back() {
    let pod = pod("Always", &["a", "b"]);
    let seen = in_sandbox(vec![exited(&pod, "a", 1), exited(&pod, "b", 1)]);
    let mut backoff = BackoffTable::new(CRASH);
    for (index, crashes) in [(0, 3), (1, 1)] {
        let key = BackoffKey::of(&pod, &app_containers(&pod)[index]);
        for _ in 0..crashes {
            backoff.record(key.clone(), at(90), at(95));
        }
    }
    let plan = plan_with(&pod, &seen, &ProbeResults::new(), &backoff, 101);
    assert_eq!(render(&plan), ["wait a 40s", "wait b 10s"]);
    assert_eq!(plan.retry_at(), Some(at(110)));
}

#[test]
fn only_a_sandbox_after_the_first_replaces_one() {
    let pod = pod("Always", &["a"]);
    assert!(!plan_of(&pod, &observed(vec![], vec![]), &[]).replaces_sandbox());
    assert!(plan_of(&pod, &in_dead_sandbox(vec![]), &[]).replaces_sandbox());
}

#[test]
fn killing_a_pod_stops_what_may_run_and_is_done_when_nothing_does() {
    let pod = pod("Always", &THREE);
    let unknown = instance(&pod, "b", 0, ContainerRunState::Unknown);
    let seen = in_sandbox(vec![running(&pod, "a"), unknown, exited(&pod, "c", 0)]);
    let plan = plan_kill(Some(&pod), &seen, 1);
    assert_eq!(render(&plan), ["kill pod PodEnds [a-0 b-0] [s0]"]);
    let Step::KillPod(kill) = &plan.steps[0] else { panic!("a pod is killed as a whole") };
    assert_eq!(kill.containers[0].grace_seconds, GRACE_SECONDS_MIN);
    assert_eq!(kill.containers[0].message, "Stopping container a");
    assert_eq!(plan_kill(Some(&pod), &in_dead_sandbox(vec![exited(&pod, "a", 0)]), 1), Plan::default());
    assert_eq!(plan_kill(None, &observed(vec![], vec![]), 1), Plan::default());
}

#[test]
fn grace_comes_from_the_deletion_then_the_spec_then_the_default() {
    let mut pod = pod("Always", &["a"]);
    assert_eq!(grace_seconds(&pod), 30);
    spec(&mut pod).termination_grace_period_seconds = Some(60);
    assert_eq!(grace_seconds(&pod), 60);
    pod.metadata.deletion_grace_period_seconds = Some(0);
    assert_eq!(grace_seconds(&pod), GRACE_SECONDS_MIN);
    pod.metadata.deletion_grace_period_seconds = None;
    spec(&mut pod).termination_grace_period_seconds = None;
    assert_eq!(grace_seconds(&pod), GRACE_SECONDS_DEFAULT);
}

#[test]
fn a_kill_that_is_followed_by_a_start_says_so() {
    let mut pod = pod("Always", &["a"]);
    let seen = in_sandbox(vec![running(&pod, "a")]);
    first(&mut pod).image = Some("newer".to_owned());
    let plan = plan_of(&pod, &seen, &[]);
    let Step::KillContainers(kills) = &plan.steps[0] else { panic!("the container is killed first") };
    let kill = &kills[0];
    assert_eq!(kill.message, "Container a definition changed, will be restarted");
    assert_eq!(kill.reason, KillReason::SpecChanged);
}

#[test]
fn a_new_image_does_not_wait_for_the_delay_of_the_old_one() {
    let mut pod = pod("Always", &["a"]);
    let seen = in_sandbox(vec![exited(&pod, "a", 1)]);
    let mut backoff = BackoffTable::new(CRASH);
    backoff.record(BackoffKey::of(&pod, &app_containers(&pod)[0]), at(90), at(95));
    first(&mut pod).image = Some("newer".to_owned());
    let plan = plan_with(&pod, &seen, &ProbeResults::new(), &backoff, 101);
    assert_eq!(render(&plan), ["start a #1"]);
    assert_eq!(CRASH.initial, Duration::from_secs(10));
}
