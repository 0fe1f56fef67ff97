//! What is listed, whichever way it is asked for.

use witlet_proto::cri::ContainerMetadata;

use super::*;

fn labels(uid: &str, name: &str) -> BTreeMap<String, String> {
    [(POD_UID, uid), ("name", name)].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Pods `u-0` to `u-2`, each with two containers.
fn three_pods() -> (State, Vec<String>) {
    let mut state = State::default();
    let mut sandboxes = Vec::new();
    for pod in 0..3 {
        let labels = |name: &str| labels(&format!("u-{pod}"), name);
        let id =
            state.run_sandbox(PodSandboxConfig { labels: labels("sandbox"), ..PodSandboxConfig::default() });
        for name in ["one", "two"] {
            let metadata = Some(ContainerMetadata { name: name.to_owned(), attempt: 0 });
            let config = ContainerConfig { metadata, labels: labels(name), ..ContainerConfig::default() };
            let container = state.create_container(&id, config, "/logs").expect("its sandbox is there");
            state.start_container(&container).expect("it is there");
        }
        sandboxes.push(id);
    }
    (state, sandboxes)
}

fn only(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

#[test]
fn lists_are_the_same_by_id_by_pod_and_by_any_label() {
    let (state, sandboxes) = three_pods();
    let all = BTreeMap::new();
    assert_eq!((state.list_sandboxes("", &all).len(), state.list_containers("", "", &all).len()), (3, 6));
    assert_eq!(state.list_sandboxes("", &only(POD_UID, "u-1"))[0].id, sandboxes[1]);
    assert_eq!(state.list_sandboxes(&sandboxes[1], &all)[0].id, sandboxes[1]);
    assert!(state.list_sandboxes(&sandboxes[1], &only(POD_UID, "u-2")).is_empty());
    assert!(state.list_sandboxes("", &only(POD_UID, "u-9")).is_empty());
    let of_pod = state.list_containers("", "", &only(POD_UID, "u-1"));
    assert_eq!(of_pod, state.list_containers("", &sandboxes[1], &all));
    assert_eq!(of_pod.len(), 2);
    assert_eq!(state.list_containers("", "", &only("name", "two")).len(), 3);
    assert_eq!(state.list_containers("", "", &labels("u-1", "two")), [of_pod[1].clone()]);
    assert_eq!(state.list_containers(&of_pod[0].id, "", &all), [of_pod[0].clone()]);
    assert!(state.list_containers(&of_pod[0].id, &sandboxes[0], &all).is_empty());
}

#[test]
fn what_is_removed_leaves_nothing_behind() {
    let (mut state, sandboxes) = three_pods();
    for id in &sandboxes {
        state.stop_sandbox(id);
        assert!(
            state
                .list_containers("", id, &BTreeMap::new())
                .iter()
                .all(|c| { state.container_status(&c.id).is_some_and(|status| status.exit_code == 137) })
        );
        state.remove_sandbox(id);
    }
    assert_eq!((state.running(), state.sandboxes.len(), state.containers.len()), (0, 0, 0));
    assert!(state.owners.is_empty() && state.inside.is_empty());
    assert!(state.sandboxes_of_pod.is_empty() && state.containers_of_pod.is_empty());
}

#[test]
fn new_limits_are_reported_and_what_is_not_named_stays() {
    let (mut state, _) = three_pods();
    let id = state.list_containers("", "", &labels("u-0", "one"))[0].id.clone();
    for (cpu_shares, memory_limit_in_bytes) in [(2, 64), (0, 128)] {
        let new = LinuxContainerResources { cpu_shares, memory_limit_in_bytes, ..Default::default() };
        state.update_resources(&id, &new).expect("it is there");
    }
    let status = state.container_status(&id).expect("it is there");
    let now = status.resources.and_then(|resources| resources.linux).expect("reported");
    assert_eq!((now.cpu_shares, now.memory_limit_in_bytes), (2, 128));
    assert!(state.update_resources("none", &LinuxContainerResources::default()).is_none());
}
