//! Upstream's choice among the instances of a container.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateRunning};

use super::*;

fn ended(id: &str) -> ContainerState {
    let terminated = ContainerStateTerminated {
        container_id: (!id.is_empty()).then(|| id.to_owned()),
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn waiting(reason: &str) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message: None };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn running() -> ContainerState {
    ContainerState { running: Some(ContainerStateRunning::default()), ..ContainerState::default() }
}

fn status(state: ContainerState, last: Option<ContainerState>) -> PodStatus {
    let app = ContainerStatus {
        name: "app".to_owned(),
        container_id: Some("containerd://now".to_owned()),
        state: Some(state),
        last_state: last,
        ..ContainerStatus::default()
    };
    PodStatus { container_statuses: Some(vec![app]), ..PodStatus::default() }
}

#[test]
fn the_instance_is_the_one_that_upstream_takes() {
    let before = || Some(ended("containerd://before"));
    let none = ContainerState::default;
    let not_found = r#"previous terminated container "app" in pod "web" not found"#;
    let terminated = r#"container "app" in pod "web" is terminated"#;
    let starts = |why: &str| format!(r#"container "app" in pod "web" is waiting to start: {why}"#);
    let id = |id: &str| Ok(format!("containerd://{id}"));
    let cases = [
        ("runs", status(running(), None), false, id("now")),
        ("runs, after another", status(running(), before()), false, id("now")),
        ("the one before", status(running(), before()), true, id("before")),
        ("nothing before", status(running(), None), true, Err(not_found.to_owned())),
        ("before, without an id", status(running(), Some(ended(""))), true, Err(not_found.to_owned())),
        ("ended", status(ended("containerd://end"), before()), false, id("end")),
        ("ended without being made", status(ended(""), before()), false, id("before")),
        ("ended, never made", status(ended(""), None), false, Err(terminated.to_owned())),
        ("waits after a crash", status(waiting("CrashLoopBackOff"), before()), false, id("before")),
        ("waits, lost before", status(waiting("x"), Some(ended(""))), false, Err(terminated.to_owned())),
        ("creating", status(waiting("ContainerCreating"), None), false, Err(starts("ContainerCreating"))),
        ("no image", status(waiting("ErrImagePull"), None), false, Err(starts("image can't be pulled"))),
        (
            "still no image",
            status(waiting("ImagePullBackOff"), None),
            false,
            Err(starts("trying and failing to pull image")),
        ),
        (
            "nothing known",
            status(none(), None),
            false,
            Err(r#"container "app" in pod "web" is waiting to start - no logs yet"#.to_owned()),
        ),
    ];
    for (name, status, previous, expected) in cases {
        assert_eq!(container_with_log("web", &status, "app", previous), expected, "{name}");
    }
}

#[test]
fn all_kinds_of_containers_have_logs() {
    let mut of_init = status(running(), None);
    of_init.init_container_statuses = of_init.container_statuses.take();
    assert_eq!(container_with_log("web", &of_init, "app", false), Ok("containerd://now".to_owned()));
    of_init.ephemeral_container_statuses = of_init.init_container_statuses.take();
    assert_eq!(container_with_log("web", &of_init, "app", false), Ok("containerd://now".to_owned()));
    let unknown = container_with_log("web", &of_init, "other", false);
    assert_eq!(unknown, Err(r#"container "other" in pod "web" is not available"#.to_owned()));
}
