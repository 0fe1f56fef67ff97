//! Init containers and sidecars: done, started, forgotten by the runtime.

use super::*;

/// A pod with an init container or a sidecar `x` before its app container `a`.
fn with_init(policy: &str, is_sidecar: bool) -> Pod {
    let mut pod = pod(policy, &["a"]);
    let init = Container {
        name: "x".to_owned(),
        image: Some("x-image".to_owned()),
        restart_policy: is_sidecar.then(|| "Always".to_owned()),
        ..Container::default()
    };
    spec(&mut pod).init_containers = Some(vec![init]);
    pod
}

#[test]
fn containers_of_a_pod_with_init_containers_wait_for_its_initialisation() {
    let facts = Facts::of(with_init("Always", false), vec![]);
    assert_eq!(facts.words(), words("waiting PodInitializing: -", "empty", 0));
    assert_eq!(words_of(&facts.init()), words("waiting PodInitializing: -", "empty", 0));
}

#[test]
fn an_init_container_is_ready_once_it_has_succeeded() {
    let pod = with_init("Always", false);
    // What the runtime has of it; its state, started, ready.
    let cases = [
        (vec![], "waiting PodInitializing: -", false, false),
        (vec![running(&pod, "x")], "running", true, false),
        (vec![exited(&pod, "x", 1)], "terminated 1 Error", false, false),
        (vec![exited(&pod, "x", 0)], "terminated 0 Completed", false, true),
    ];
    for (seen, state, started, ready) in cases {
        let status = Facts::of(pod.clone(), seen).init();
        assert_eq!(
            (word(&status.state).as_str(), status.started, status.ready),
            (state, Some(started), ready)
        );
    }
}

#[test]
fn an_init_container_that_is_done_never_waits_again() {
    let pod = with_init("Always", false);
    let mut facts = Facts::of(pod.clone(), vec![exited(&pod, "x", 0)]);
    let waiting = Waiting { reason: WaitingReason::CrashLoopBackOff, message: String::new() };
    facts.waiting.insert("x".to_owned(), waiting);
    assert_eq!(word(&facts.init().state), "terminated 0 Completed");
    facts.observed.containers[0].exit_code = 1;
    assert_eq!(words_of(&facts.init()), words("waiting CrashLoopBackOff: -", "terminated 1 Completed", 0));
}

#[test]
fn an_init_container_that_the_runtime_forgot_counts_as_done_once_an_app_container_was_made() {
    // Whether it is a sidecar, the app container's state, the init container's.
    let cases = [
        (false, Some(ContainerRunState::Running), "terminated 0 Completed"),
        (false, Some(ContainerRunState::Created), "terminated 0 Completed"),
        (false, Some(ContainerRunState::Exited), "terminated 0 Completed"),
        (false, Some(ContainerRunState::Unknown), "waiting PodInitializing: -"),
        (false, None, "waiting PodInitializing: -"),
        (true, Some(ContainerRunState::Running), "waiting PodInitializing: -"),
    ];
    for (is_sidecar, app, expected) in cases {
        let pod = with_init("Always", is_sidecar);
        let seen = app.map(|state| instance(&pod, "a", 0, state)).into_iter().collect();
        let status = Facts::of(pod, seen).init();
        assert_eq!(word(&status.state), expected, "{is_sidecar} {app:?}");
        assert_eq!(status.ready, expected.starts_with("terminated"));
    }
    let pod = with_init("Always", false);
    let failed = exited(&pod, "x", 3);
    let before = vec![Facts::of(pod.clone(), vec![failed]).init()];
    let status = Facts::of(pod.clone(), vec![running(&pod, "a")]).init_before(before).init();
    assert_eq!(word(&status.state), "terminated 3 Error", "what was reported stays reported");
}

#[test]
fn a_sidecar_is_started_and_ready_like_an_app_container() {
    let mut pod = with_init("Never", true);
    spec(&mut pod).init_containers.as_mut().unwrap()[0].startup_probe = Some(Default::default());
    let mut facts = Facts::of(pod.clone(), vec![running(&pod, "x")]);
    let status = facts.init();
    assert_eq!((status.started, status.ready), (Some(false), false));
    let startup = Some(ProbeResult::Success);
    facts.probes.insert("x-0".into(), ContainerProbes { startup, ..ContainerProbes::default() });
    let status = facts.init();
    assert_eq!((status.started, status.ready), (Some(true), true));
}

#[test]
fn a_sidecar_waits_for_its_restart_whatever_its_pods_policy() {
    let pod = with_init("Never", true);
    let mut facts = Facts::of(pod.clone(), vec![exited(&pod, "x", 0)]);
    let waiting = Waiting { reason: WaitingReason::CrashLoopBackOff, message: String::new() };
    facts.waiting.insert("x".to_owned(), waiting);
    assert_eq!(words_of(&facts.init()), words("waiting CrashLoopBackOff: -", "terminated 0 Completed", 0));
}
