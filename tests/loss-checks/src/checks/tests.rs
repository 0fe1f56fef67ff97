//! A node on which all is well, and the same node with one thing wrong.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;
use witlet_core::runtime::{ContainerRunState, ListedContainer, ListedSandbox, RuntimePod, SandboxState};

use super::{NodeSnapshot, count, ids};
use crate::pods::{Character, ExpectedPod, Touch};
use crate::shape::{Course, Shape};

/// What goes wrong, and what has to be said of it.
type Case = (&'static str, fn(&mut NodeSnapshot), &'static str);

const CASES: &[Case] = &[
    ("nothing", |_| {}, ""),
    ("the agent forgets", |seen| seen.pods.clear(), "p-node1: the agent shows it 0 times"),
    (
        "a manifest is gone",
        |seen| seen.pods[0].metadata.name = Some("q-node1".to_owned()),
        "p-node1: the agent shows it 0 times",
    ),
    ("a restart", |seen| seen.runtime[0].containers[0].id = "other".into(), "its containers were"),
    (
        "a restart that is only counted",
        |seen| status_of(&mut seen.pods[0]).restart_count = 2,
        "its container app had 1 restarts and has 2",
    ),
    (
        "restarts that are forgotten",
        |seen| status_of(&mut seen.pods[0]).restart_count = 0,
        "its container app had 1 restarts and has 0",
    ),
    ("a new sandbox", |seen| seen.runtime[0].sandboxes[0].id = "other".into(), "its sandbox was"),
    (
        "an end",
        |seen| seen.runtime[0].containers[0].state = ContainerRunState::Exited,
        "its container app runs 0 times",
    ),
    (
        "two containers",
        |seen| {
            let mut twin = seen.runtime[0].containers[0].clone();
            twin.id = "twin".into();
            seen.runtime[0].containers.push(twin);
        },
        "its container app runs 2 times",
    ),
    (
        "two pods of a name",
        |seen| {
            let mut twin = seen.runtime[0].clone();
            twin.uid = "twin".into();
            seen.runtime.push(twin);
        },
        "2 sandboxes are up",
    ),
    (
        "dead sandboxes",
        |seen| {
            let mut dead = seen.runtime[0].sandboxes[0].clone();
            dead.state = SandboxState::NotReady;
            seen.runtime[0].sandboxes.extend([dead.clone(), dead]);
        },
        "it has 3 sandboxes",
    ),
    ("a folder", |seen| seen.folders.extend(["old".to_owned()]), "old: its folder is left"),
    ("logs", |seen| drop(seen.logs.insert("old".to_owned(), BTreeMap::new())), "old: its logs are left"),
    ("mounts", |seen| seen.mounts.extend(["old".to_owned()]), "old: its mounts are left"),
    ("links", |seen| seen.links.extend(["old-node1".to_owned()]), "old-node1: links to its logs are left"),
    (
        "logs of dead containers",
        |seen| drop(seen.logs.insert("uid".to_owned(), BTreeMap::from([("app".to_owned(), 9)]))),
        "has 9 logs of 1 instances",
    ),
    (
        "a pod that no one wants",
        |seen| {
            seen.runtime.push(RuntimePod {
                uid: "old".into(),
                name: "old-node1".to_owned(),
                namespace: "default".to_owned(),
                sandboxes: Vec::new(),
                containers: Vec::new(),
            });
        },
        "old-node1: the runtime has it with UID old",
    ),
];

/// What goes wrong with a pod that runs with a limit.
const LIMITED: &[Case] = &[
    ("nothing", |_| {}, ""),
    ("no limit", |seen| seen.cpu_limits.clear(), "its limit is None thousandths, not 300"),
    ("an old limit", |seen| seen.cpu_limits.extend([("container".to_owned(), 200)]), "is Some(200)"),
    (
        "a limit that isn't shown",
        |seen| status_of(&mut seen.pods[0]).resources = None,
        "its limit is shown as None",
    ),
];

/// What goes wrong with a pod that has failed for good, and said why.
const ENDED: &[Case] = &[
    ("nothing", |_| {}, ""),
    ("other words", |seen| end_of(seen).message = None, "its container app said Some(\"\"), not"),
    ("a start that was cut short", |seen| cut_short(seen, "StartError"), ""),
    (
        "no start, and no reason for that",
        |seen| cut_short(seen, "Error"),
        "its container app said Some(\"\"), not",
    ),
];

fn end_of(seen: &mut NodeSnapshot) -> &mut ContainerStateTerminated {
    let state = status_of(&mut seen.pods[0]).state.get_or_insert_default();
    state.terminated.get_or_insert_default()
}

fn cut_short(seen: &mut NodeSnapshot, reason: &str) {
    *end_of(seen) = ContainerStateTerminated { reason: Some(reason.to_owned()), ..Default::default() };
}

/// Of the pod's only container.
fn status_of(pod: &mut Pod) -> &mut ContainerStatus {
    let status = pod.status.get_or_insert_default();
    &mut status.container_statuses.get_or_insert_default()[0]
}

/// One pod that runs, and was restarted before it had settled.
fn well() -> NodeSnapshot {
    let made = Timestamp::UNIX_EPOCH;
    let status = json!({
        "phase": "Running",
        "containerStatuses": [{
            "name": "app", "ready": true, "restartCount": 1, "image": "app:1", "imageID": "app",
        }],
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p-node1", "uid": "uid"}, "status": status,
    });
    NodeSnapshot {
        pods: serde_json::from_value(pod).into_iter().collect(),
        runtime: vec![RuntimePod {
            uid: "uid".into(),
            name: "p-node1".to_owned(),
            namespace: "default".to_owned(),
            sandboxes: vec![ListedSandbox {
                id: "sandbox".into(),
                attempt: 0,
                state: SandboxState::Ready,
                created_at: made,
            }],
            containers: vec![ListedContainer {
                id: "container".into(),
                name: "app".to_owned(),
                sandbox_id: "sandbox".into(),
                state: ContainerRunState::Running,
                created_at: made,
            }],
        }],
        folders: ["uid".to_owned()].into(),
        logs: BTreeMap::from([("uid".to_owned(), BTreeMap::from([("app".to_owned(), 1)]))]),
        mounts: ["uid".to_owned()].into(),
        links: ["p-node1".to_owned()].into(),
        cpu_limits: BTreeMap::from([("container".to_owned(), 300)]),
    }
}

/// The same pod with its limit.
fn limited() -> NodeSnapshot {
    let mut seen = well();
    let limits = BTreeMap::from([("cpu".to_owned(), Quantity("300m".to_owned()))]);
    let resources = ResourceRequirements { limits: Some(limits), ..Default::default() };
    status_of(&mut seen.pods[0]).resources = Some(resources);
    seen
}

/// The same pod once it has failed.
fn ended() -> NodeSnapshot {
    let mut seen = well();
    seen.pods[0].status.get_or_insert_default().phase = Some("Failed".to_owned());
    seen.runtime[0].sandboxes[0].state = SandboxState::NotReady;
    seen.runtime[0].containers[0].state = ContainerRunState::Exited;
    end_of(&mut seen).message = Some("last words".to_owned());
    seen
}

#[test]
fn every_loss_of_a_pod_that_runs_is_found() {
    play(Character::Sleeper, well, CASES);
}

#[test]
fn a_limit_that_was_not_applied_or_not_reported_is_found() {
    play(Character::Varied(Shape::plain(Course::Runs, "Always")), limited, LIMITED);
}

#[test]
fn lost_last_words_are_found_unless_the_start_was_cut_short() {
    play(Character::Varied(Shape::plain(Course::Fails, "Never")), ended, ENDED);
}

fn play(character: Character, before: fn() -> NodeSnapshot, cases: &[Case]) {
    let mut one = ExpectedPod::new("p".to_owned(), character, false);
    one.touch = Touch::None;
    one.settled = Some(ids("p", &before()));
    let expected = BTreeMap::from([("p".to_owned(), one)]);
    for (name, spoil, said) in cases {
        let mut seen = before();
        spoil(&mut seen);
        let shown: Vec<String> = count(&expected, &seen).iter().map(ToString::to_string).collect();
        let found = shown.iter().any(|loss| loss.contains(said));
        let is_right = if said.is_empty() { shown.is_empty() } else { found };
        assert!(is_right, "{name}: {shown:?} should say {said:?}");
    }
}
