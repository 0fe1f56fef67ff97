//! Tests of the garbage collection: upstream's tables of containers and sandboxes as cases of our own.

use super::*;
use crate::fixtures::at;

const NOW: i64 = 1_000;

/// Pods in short: `uid sandbox=dead@1 container=exited@2/sandbox …`, one pod to a line.
fn pods(text: &str) -> Vec<RuntimePod> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(pod).collect()
}

fn pod(line: &str) -> RuntimePod {
    let mut words = line.split_whitespace();
    let uid = words.next().unwrap();
    let mut pod = RuntimePod {
        uid: uid.into(),
        name: uid.to_owned(),
        namespace: "ns".to_owned(),
        sandboxes: Vec::new(),
        containers: Vec::new(),
    };
    for word in words {
        let (name, rest) = word.split_once('=').unwrap();
        let (state, rest) = rest.split_once('@').unwrap();
        let (age, sandbox) = rest.split_once('/').unwrap_or((rest, "none"));
        let created_at = at(age.parse().unwrap());
        let sandbox_state = match state {
            "ready" => Some(SandboxState::Ready),
            "dead" => Some(SandboxState::NotReady),
            _ => None,
        };
        if let Some(state) = sandbox_state {
            pod.sandboxes.push(ListedSandbox { id: name.into(), attempt: 0, state, created_at });
            continue;
        }
        let state = match state {
            "running" => ContainerRunState::Running,
            "exited" => ContainerRunState::Exited,
            "created" => ContainerRunState::Created,
            "unknown" => ContainerRunState::Unknown,
            other => panic!("no state: {other}"),
        };
        let id = format!("{name}{age}");
        pod.containers.push(ListedContainer {
            id: format!("{uid}/{id}").as_str().into(),
            name: name.to_owned(),
            sandbox_id: sandbox.into(),
            state,
            created_at,
        });
    }
    pod
}

struct Case<'a> {
    pods: &'a str,
    ended: &'a [&'a str],
    gone: &'a [&'a str],
    policy: GcPolicy,
    sources_ready: bool,
    evict_ended: bool,
}

const KEEP_ALL: GcPolicy =
    GcPolicy { age_min: SignedDuration::ZERO, per_container_max: None, total_max: None };

fn case(pods: &str) -> Case<'_> {
    Case { pods, ended: &[], gone: &[], policy: KEEP_ALL, sources_ready: true, evict_ended: false }
}

fn collected(case: &Case<'_>) -> Garbage {
    let pods = pods(case.pods);
    let need = |uid: &PodUid| {
        if case.gone.contains(&uid.as_str()) {
            PodNeed::Gone
        } else if case.ended.contains(&uid.as_str()) {
            PodNeed::Ended
        } else {
            PodNeed::Desired
        }
    };
    let needs = pods.iter().map(|pod| (pod.uid.clone(), need(&pod.uid))).collect();
    let (sources_ready, evict_ended) = (case.sources_ready, case.evict_ended);
    collect(GcInput {
        pods: &pods,
        needs: &needs,
        sources_ready,
        evict_ended,
        policy: case.policy,
        now: at(NOW),
    })
}

/// What goes, sorted: containers, then sandboxes.
#[track_caller]
fn check(case: &Case<'_>, containers: &str, sandboxes: &str) {
    let garbage = collected(case);
    let mut ids: Vec<String> = garbage.containers.iter().map(|dead| dead.id.to_string()).collect();
    ids.sort();
    assert_eq!(ids.join(" "), containers, "containers of {}", case.pods);
    let mut ids: Vec<String> = garbage.sandboxes.iter().map(ToString::to_string).collect();
    ids.sort();
    assert_eq!(ids.join(" "), sandboxes, "sandboxes of {}", case.pods);
}

fn at_most(per_container: Option<usize>, total: Option<usize>) -> GcPolicy {
    GcPolicy { per_container_max: per_container, total_max: total, ..KEEP_ALL }
}

#[test]
fn a_bound_of_no_container_at_all_removes_every_dead_one() {
    check(&Case { policy: at_most(Some(1), Some(0)), ..case("p a=exited@1 a=exited@2") }, "p/a1 p/a2", "");
}

#[test]
fn a_bound_in_all_counts_without_one_for_each_container() {
    let pods = "p a=exited@1 a=exited@2 a=exited@3 a=exited@4 a=exited@5";
    check(&Case { policy: at_most(None, Some(4)), ..case(pods) }, "p/a1", "");
}

#[test]
fn without_bounds_nothing_goes() {
    check(&case("p a=exited@1 a=exited@2 a=exited@3"), "", "");
}

#[test]
fn a_container_that_is_too_young_stays() {
    let policy = GcPolicy { age_min: SignedDuration::from_secs(600), ..at_most(Some(0), None) };
    check(
        &Case { policy, ..case("p a=exited@950 b=exited@100 c=exited@400 d=exited@401") },
        "p/b100 p/c400",
        "",
    );
}

#[test]
fn of_each_container_the_oldest_go() {
    let pods = "p a=exited@1 a=exited@2 a=exited@3 a=exited@4";
    check(&Case { policy: at_most(Some(1), None), ..case(pods) }, "p/a1 p/a2 p/a3", "");
    assert_eq!(GcPolicy::default(), at_most(Some(1), None));
    let garbage = collected(&Case { policy: GcPolicy::default(), ..case(pods) });
    let order: Vec<&str> = garbage.containers.iter().map(|dead| dead.id.as_str()).collect();
    assert_eq!(order, ["p/a1", "p/a2", "p/a3"], "the oldest first");
}

#[test]
fn a_running_container_never_goes_and_never_counts() {
    let pods = "p a=running@1 a=exited@2 a=exited@3 b=running@1";
    check(&Case { policy: at_most(Some(1), Some(1)), ..case(pods) }, "p/a2", "");
    check(&Case { policy: at_most(Some(0), Some(0)), gone: &["p"], ..case(pods) }, "p/a2 p/a3", "");
}

#[test]
fn within_the_bounds_nothing_goes() {
    let pods = "p a=exited@1 a=exited@2\nq a=exited@1";
    check(&Case { policy: at_most(Some(2), Some(10)), ..case(pods) }, "", "");
}

#[test]
fn containers_of_one_name_in_two_pods_are_two_and_so_are_two_names_in_one_pod() {
    let pods = "p a=exited@1 a=exited@2 b=exited@1 b=exited@2\nq a=exited@1 a=exited@2";
    check(&Case { policy: at_most(Some(1), None), ..case(pods) }, "p/a1 p/b1 q/a1", "");
}

#[test]
fn a_bound_in_all_takes_evenly_from_all_containers() {
    let pods = "p a=exited@1 a=exited@2\nq a=exited@1 a=exited@2\nr a=exited@1 a=exited@2\n\
                s a=exited@1 a=exited@2\nt a=exited@1 a=exited@2";
    check(&Case { policy: at_most(Some(2), Some(6)), ..case(pods) }, "p/a1 q/a1 r/a1 s/a1 t/a1", "");
}

#[test]
fn a_bound_below_one_of_each_keeps_the_newest() {
    let pods = "p a=exited@1\nq a=exited@2\nr a=exited@3\ns a=exited@4\nt a=exited@5";
    check(&Case { policy: at_most(Some(1), Some(2)), ..case(pods) }, "p/a1 q/a2 r/a3", "");
}

#[test]
fn ended_pods_lose_all_when_the_node_needs_the_capacity() {
    let pods = "p a=exited@1 b=running@2\nq a=exited@1 a=exited@2";
    let case = Case { ended: &["q"], policy: GcPolicy::default(), ..case(pods) };
    check(&case, "q/a1", "");
    check(&Case { evict_ended: true, ..case }, "q/a1 q/a2", "");
}

#[test]
fn pods_that_no_one_wants_lose_all_once_every_source_was_seen() {
    let pods = "p a=exited@1 a=exited@2\nq a=exited@1 a=exited@2";
    let case = Case { gone: &["q"], ..case(pods) };
    check(&case, "q/a1 q/a2", "");
    check(&Case { sources_ready: false, ..case }, "", "");
}

#[test]
fn a_container_in_an_unknown_state_is_stopped_before_it_goes() {
    let garbage = collected(&Case { gone: &["p"], ..case("p a=unknown@1 b=created@1") });
    let flags: Vec<_> = garbage.containers.iter().map(|dead| (dead.id.as_str(), dead.stop_first)).collect();
    assert_eq!(flags, [("p/a1", true), ("p/b1", false)]);
}

#[test]
fn a_pod_that_the_agent_does_not_know_is_gone() {
    let pods = pods("p a=exited@1");
    let input = GcInput {
        pods: &pods,
        needs: &BTreeMap::new(),
        sources_ready: true,
        evict_ended: false,
        policy: GcPolicy::default(),
        now: at(NOW),
    };
    assert_eq!(collect(input).containers.len(), 1);
}

#[test]
fn dead_sandboxes_go_by_whether_their_pod_is_desired_and_what_is_in_them() {
    let cases: &[(&str, Case<'_>, &str)] = &[
        ("a dead one of a pod that no one wants goes", Case { gone: &["p"], ..case("p s0=dead@1") }, "s0"),
        ("a ready one never goes", Case { gone: &["p"], ..case("p s0=ready@1") }, ""),
        ("the only one of a desired pod stays", case("p s0=dead@1"), ""),
        ("the older dead ones of a desired pod go", case("p s0=dead@1 s1=dead@2 s2=dead@3"), "s0 s1"),
        ("next to a ready one as well", case("p s0=dead@1 s1=ready@2"), "s0"),
        ("not as long as a container is left in it", case("p s0=dead@1 s1=dead@2 a=exited@1/s0"), ""),
        (
            "those of ended pods when the node needs the capacity",
            Case { ended: &["p"], evict_ended: true, ..case("p s0=dead@1 s1=dead@2") },
            "s0 s1",
        ),
        ("but not else", Case { ended: &["p"], ..case("p s0=dead@1") }, ""),
        (
            "a container of a gone pod that may not go yet keeps its sandbox",
            Case { gone: &["p"], ..case("p s0=dead@1 a=running@1/s0") },
            "",
        ),
        (
            "several pods at once",
            Case { gone: &["q", "r"], ..case("p s0=dead@1 s1=dead@2\nq s2=ready@1\nr s3=dead@1 s4=dead@2") },
            "s0 s3 s4",
        ),
        (
            "nothing is gone before every source was seen, but older ones go",
            Case { gone: &["p"], sources_ready: false, ..case("p s0=dead@1 s1=dead@2") },
            "s0",
        ),
    ];
    for (claim, case, expected) in cases {
        let mut ids: Vec<String> = collected(case).sandboxes.iter().map(ToString::to_string).collect();
        ids.sort();
        assert_eq!(ids.join(" "), *expected, "{claim}");
    }
}

#[test]
fn a_sandbox_goes_with_the_last_container_in_it() {
    let case = Case { gone: &["p"], ..case("p s0=dead@1 a=exited@1/s0") };
    check(&case, "p/a1", "s0");
}

#[test]
fn a_failing_collection_is_reported_once_a_minute() {
    let at = |second: i64| Timestamp::from_second(second).expect("a time");
    let mut reports = FailureReports::default();
    let cases: &[(i64, &[&str], Option<&str>)] = &[
        (0, &[], None),
        (1, &["down"], Some("down")),
        (3, &["down"], None),
        (60, &["down"], None),
        (61, &["down", "no folder", "down"], Some("[down, no folder]")),
        (70, &[], None),
        (72, &["down"], None),
        (121, &["down"], Some("down")),
        (1, &["down"], Some("down")),
    ];
    for (second, errors, expected) in cases {
        let errors = errors.iter().map(|error| (*error).to_owned()).collect();
        assert_eq!(reports.next(errors, at(*second)).as_deref(), *expected, "{second}");
    }
}
