//! What upstream's table of `generateAPIPodStatus` knows, and ends by the deadline (`tests/upstream.md`).

use super::*;

/// The facts of one of upstream's cases of `generateAPIPodStatus`: a pod with containers `a` and `b`.
struct Case {
    pod: Pod,
    observed: ObservedPod,
    previous: PodStatus,
    ends: bool,
}

impl Case {
    /// Nothing is left of two containers that ran.
    fn vanished(observed: ObservedPod) -> Self {
        let pod = pod("Always", &["a", "b"]);
        let ran = in_sandbox(vec![running(&pod, "a"), running(&pod, "b")]);
        let container_statuses = generate_of(&pod, &ran, None, 1).container_statuses;
        let previous = PodStatus { container_statuses, ..PodStatus::default() };
        Self { pod, observed, previous, ends: false }
    }

    fn status(&self) -> PodStatus {
        generate(StatusInput {
            pod: &self.pod,
            observed: &self.observed,
            previous: Some(&self.previous),
            host_ips: &["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
            runtime_name: "containerd",
            recursive_read_only: false,
            waiting: &BTreeMap::new(),
            probes: &BTreeMap::new(),
            started_before: &BTreeMap::new(),
            resize: &ResizeStatus::default(),
            ends: self.ends,
            now: at(9),
        })
    }
}

/// Phase and reason; then of each app container its state, the exit code of its last state and its restart count.
fn outline(status: &PodStatus) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let containers = status.container_statuses.iter().flatten().map(|container| {
        let state = container.state.clone().unwrap_or_default();
        let state = match (&state.waiting, &state.running, &state.terminated) {
            (Some(waiting), _, _) => text(&waiting.reason),
            (_, Some(_), _) => "running".to_owned(),
            (_, _, Some(ended)) => ended.exit_code.to_string(),
            (None, None, None) => "?".to_owned(),
        };
        let last = container.last_state.as_ref().and_then(|last| last.terminated.as_ref());
        let last = last.map_or_else(|| "-".to_owned(), |ended| ended.exit_code.to_string());
        format!(" {}={state},{last},{}", container.name, container.restart_count)
    });
    format!("{} {}:{}", text(&status.phase), text(&status.reason), containers.collect::<String>())
}

const READY: &str = "True -";

#[test]
fn containers_that_vanished_leave_a_pod_running_unless_it_ends() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    let status = case.status();
    assert_eq!(outline(&status), "Running -: a=ContainerCreating,137,1 b=ContainerCreating,137,1");
    assert_eq!(condition(&status, "PodReadyToStartContainers"), READY);
    assert_eq!(condition(&status, "Initialized"), READY);
    assert_eq!(status.host_ips.as_ref().map(Vec::len), Some(2));
    // A pod that is deleted restarts nothing.
    case.pod.metadata.deletion_timestamp = Some(Time(at(1)));
    assert_eq!(outline(&case.status()), "Running -: a=ContainerCreating,137,0 b=ContainerCreating,137,0");
    // And one that ends has failed, because its exit code is unknown.
    case.ends = true;
    let target = k8s_openapi::api::core::v1::PodCondition {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(Time(at(1))),
        ..Default::default()
    };
    case.previous.conditions = Some(vec![target.clone()]);
    let status = case.status();
    assert_eq!(outline(&status), "Failed -: a=ContainerCreating,137,0 b=ContainerCreating,137,0");
    assert_eq!(condition(&status, "Ready"), "False PodFailed");
    assert_eq!(status.conditions.iter().flatten().find(|c| c.type_ == target.type_), Some(&target));
}

#[test]
fn a_terminal_phase_stays_whichever_side_reported_it() {
    let succeeded = |status: &PodStatus| {
        assert_eq!(condition(status, "Initialized"), "True PodCompleted");
        assert_eq!(condition(status, "Ready"), "False PodCompleted");
        assert_eq!(condition(status, "ContainersReady"), "False PodCompleted");
        assert_eq!(condition(status, "PodReadyToStartContainers"), "False -");
        status.phase.clone()
    };
    let with_phase = |phase: &str| Some(PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() });
    let mut by_source = Case::vanished(observed(vec![], vec![]));
    by_source.pod.status = with_phase("Succeeded");
    assert_eq!(succeeded(&by_source.status()).as_deref(), Some("Succeeded"));
    let mut by_agent = Case::vanished(observed(vec![], vec![]));
    by_agent.pod.status = with_phase("Running");
    by_agent.previous.phase = Some("Succeeded".to_owned());
    by_agent.previous.reason = Some("Test".to_owned());
    by_agent.previous.message = Some("test".to_owned());
    let status = by_agent.status();
    assert_eq!(succeeded(&status).as_deref(), Some("Succeeded"));
    assert_eq!((status.reason.as_deref(), status.message.as_deref()), (Some("Test"), Some("test")));
    // Whatever the agent makes of it now, the source isn't reported otherwise.
    by_agent.pod.status = with_phase("Failed");
    assert_eq!(by_agent.status().phase.as_deref(), Some("Failed"));
}

#[test]
fn a_terminal_phase_stays_with_containers_that_succeeded_for_good() {
    let never = pod("Never", &["a", "b"]);
    let done = in_sandbox(vec![exited(&never, "a", 0), exited(&never, "b", 0)]);
    let mut previous = generate_of(&never, &done, None, 1);
    previous.reason = Some("Test".to_owned());
    let case = Case { pod: never, observed: observed(vec![], vec![]), previous, ends: false };
    assert_eq!(outline(&case.status()), "Succeeded Test: a=0,-,0 b=0,-,0");
}

#[test]
fn a_pod_that_waited_goes_on_waiting_and_its_reason_goes_with_the_phase() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    case.previous = generate_of(&case.pod, &in_sandbox(vec![]), None, 1);
    case.pod.status = Some(PodStatus { phase: Some("Running".to_owned()), ..PodStatus::default() });
    assert_eq!(outline(&case.status()), "Pending -: a=ContainerCreating,-,0 b=ContainerCreating,-,0");
    case.previous.reason = Some("Test".to_owned());
    case.observed = in_sandbox(vec![running(&case.pod, "b")]);
    assert_eq!(outline(&case.status()), "Pending Test: a=ContainerCreating,-,0 b=running,-,0");
    case.observed = in_sandbox(vec![running(&case.pod, "a"), running(&case.pod, "b")]);
    assert_eq!(outline(&case.status()), "Running -: a=running,-,0 b=running,-,0");
}

#[test]
fn a_reason_that_only_the_source_knows_is_taken_over_with_its_phase() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    let brought = PodStatus {
        phase: Some("Running".to_owned()),
        reason: Some("TheirReason".to_owned()),
        message: Some("their message".to_owned()),
        ..PodStatus::default()
    };
    case.pod.status = Some(brought);
    case.previous.phase = Some("Running".to_owned());
    let status = case.status();
    assert_eq!(
        (status.reason.as_deref(), status.message.as_deref()),
        (Some("TheirReason"), Some("their message"))
    );
}

#[test]
fn a_pod_whose_time_is_over_has_failed_and_one_that_ended_before_has_not() {
    let mut case = Case::vanished(in_sandbox(vec![]));
    case.observed = in_sandbox(vec![running(&case.pod, "a"), running(&case.pod, "b")]);
    case.previous.start_time = Some(Time(at(0)));
    spec(&mut case.pod).active_deadline_seconds = Some(10);
    assert_eq!(outline(&case.status()), "Running -: a=running,-,0 b=running,-,0");
    spec(&mut case.pod).active_deadline_seconds = Some(9);
    let status = case.status();
    assert_eq!(outline(&status), "Failed DeadlineExceeded: a=running,-,0 b=running,-,0");
    assert_eq!(
        status.message.as_deref(),
        Some("Pod was active on the node longer than the specified deadline")
    );
    assert_eq!(condition(&status, "Ready"), "False PodFailed");
    // The reason stays when the containers have ended and the pod is checked again.
    case.previous = status;
    case.observed = in_sandbox(vec![]);
    let later = case.status();
    assert_eq!((later.phase.as_deref(), later.reason.as_deref()), (Some("Failed"), Some("DeadlineExceeded")));
    let never = pod("Never", &["a"]);
    let mut done = Case::vanished(in_sandbox(vec![exited(&never, "a", 0)]));
    (done.pod, done.previous.start_time) = (never, Some(Time(at(0))));
    spec(&mut done.pod).active_deadline_seconds = Some(1);
    assert_eq!(done.status().phase.as_deref(), Some("Succeeded"));
}
