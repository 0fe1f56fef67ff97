//! Tables of what is cleaned up.

use expect_test::expect;

use super::*;
use crate::runtime::{ContainerRunState, ListedContainer, ListedSandbox, SandboxState};

const NOW: Timestamp = Timestamp::constant(3600, 0);

/// `s1!` is a ready sandbox, `s1` one that isn't; `app:c1@s1=running` a container. Newest first, as the runtime lists.
fn runtime_pod(uid: &str, text: &str) -> RuntimePod {
    let (mut sandboxes, mut containers) = (Vec::new(), Vec::new());
    let created_at = Timestamp::UNIX_EPOCH;
    for word in text.split_whitespace() {
        match word.split_once(':') {
            None => {
                let ready = word.ends_with('!');
                sandboxes.push(ListedSandbox {
                    id: SandboxId::from(word.trim_end_matches('!')),
                    attempt: 0,
                    state: if ready { SandboxState::Ready } else { SandboxState::NotReady },
                    created_at,
                });
            }
            Some((name, rest)) => {
                let (id, rest) = rest.split_once('@').expect("a container is in a sandbox");
                let (sandbox, state) = rest.split_once('=').expect("a container has a state");
                let created_at = if state == "created" { NOW } else { created_at };
                let state = match state {
                    "running" => ContainerRunState::Running,
                    "created" | "stale" => ContainerRunState::Created,
                    "exited" => ContainerRunState::Exited,
                    _ => ContainerRunState::Unknown,
                };
                containers.push(ListedContainer {
                    id: ContainerId::from(id),
                    name: name.to_owned(),
                    sandbox_id: SandboxId::from(sandbox),
                    state,
                    created_at,
                });
            }
        }
    }
    RuntimePod { uid: uid.into(), name: "p".into(), namespace: "n".into(), sandboxes, containers }
}

/// A record as words: `source`, `worker`, `added`, `ended`, `returning`, `rejected`, `present` (as it was last inspected).
fn record(text: &str) -> PodFacts {
    let has = |word| text.split_whitespace().any(|other| other == word);
    let need = match text {
        _ if has("ended") => Need::Ended,
        _ if has("returning") => Need::Returning,
        _ if has("rejected") => Need::Undesired,
        _ if has("source") || has("worker") => Need::Kept,
        _ => Need::Undesired,
    };
    PodFacts {
        need,
        has_source: has("source"),
        has_worker: has("worker"),
        was_added: has("added"),
        is_absent: !has("present"),
    }
}

fn words(garbage: &Garbage) -> Vec<String> {
    let containers = garbage.containers.iter().map(|dead| dead.id.to_string());
    containers.chain(garbage.sandboxes.iter().map(ToString::to_string)).collect()
}

fn decide(
    sources: SourcesRead,
    pods: &BTreeMap<PodUid, PodFacts>,
    runtime: &[RuntimePod],
    policy: GcPolicy,
) -> CleanUp {
    clean_up(CleanUpInput { pods, runtime, sources, evict_ended: false, policy, now: NOW })
}

/// What goes of one pod with this record.
fn goes(record_text: &str, runtime: &str) -> String {
    let pods = BTreeMap::from([("u".into(), record(record_text))]);
    let done = decide(SourcesRead::All, &pods, &[runtime_pod("u", runtime)], GcPolicy::default());
    let killed = done.effects.iter().filter_map(|effect| match effect {
        Effect::KillOrphan(_, full_name) => Some(format!("kill {full_name}")),
        _ => None,
    });
    killed.chain(words(&done.garbage)).collect::<Vec<_>>().join(" ")
}

#[test]
fn of_a_pod_that_is_kept_only_older_dead_containers_and_empty_sandboxes_go() {
    for (name, pod, expected) in [
        ("all alive", "s1! app:c1@s1=running", ""),
        ("the newest dead one stays", "s1! app:c2@s1=running app:c1@s1=exited", ""),
        ("older dead ones go", "s1! app:c3@s1=running app:c2@s1=exited app:c1@s1=exited", "c1"),
        ("each container for itself", "s1! a:c2@s1=exited b:c1@s1=exited", ""),
        ("all dead", "s1 app:c2@s1=exited app:c1@s1=exited", "c1"),
        ("about to start", "s1! app:c3@s1=created app:c2@s1=exited app:c1@s1=exited", "c1"),
        ("never started, superseded, the only dead one", "s1! app:c3@s1=running app:c2@s1=stale", ""),
        ("lost track of", "s1! app:c3@s1=running app:c2@s1=unknown app:c1@s1=exited", "c1"),
        ("an old sandbox that holds nothing", "s2! s1 app:c2@s2=running", "s1"),
        ("an old sandbox that holds the last state", "s2! s1 app:c2@s2=running app:c1@s1=exited", ""),
        ("an old sandbox that is still ready", "s2! s1! app:c2@s2=running", ""),
        ("the newest sandbox, though dead", "s1", ""),
    ] {
        assert_eq!(goes("source worker added", pod), expected, "{name}");
    }
}

#[test]
fn as_many_dead_containers_stay_as_the_settings_say() {
    let default = GcPolicy::default();
    let runtime = "s1! app:c4@s1=running app:c3@s1=exited app:c2@s1=exited app:c1@s1=exited";
    for (name, policy, expected) in [
        ("one", default, "c1 c2"),
        ("none", GcPolicy { per_container_max: Some(0), ..default }, "c1 c2 c3"),
        ("two", GcPolicy { per_container_max: Some(2), ..default }, "c1"),
        ("any number", GcPolicy { per_container_max: None, ..default }, ""),
        ("two in all", GcPolicy { per_container_max: None, total_max: Some(2), ..default }, "c1"),
        ("young ones", GcPolicy { age_min: SignedDuration::from_hours(2), ..default }, ""),
    ] {
        let pods = BTreeMap::from([("u".into(), record("source worker added"))]);
        let done = decide(SourcesRead::All, &pods, &[runtime_pod("u", runtime)], policy);
        assert_eq!(words(&done.garbage).join(" "), expected, "{name}");
    }
}

#[test]
fn an_undesired_pod_is_killed_first_and_removed_when_it_is_dead() {
    for (name, pod, undesired, returning) in [
        ("running", "s1! app:c1@s1=running", "kill n/p", ""),
        ("only its sandbox", "s1!", "kill n/p", ""),
        ("dead", "s1 app:c2@s1=exited app:c1@s1=exited", "s1", "s1"),
        ("dead, several sandboxes", "s2 s1 app:c1@s1=exited", "s2 s1", "s2 s1"),
        ("a container without its sandbox", "app:c1@s9=exited", "c1", "c1"),
    ] {
        assert_eq!(goes("added", pod), undesired, "{name}");
        assert_eq!(goes("source rejected added", pod), undesired, "{name}, rejected");
        assert_eq!(goes("source returning added present", pod), returning, "{name}");
    }
}

/// All combinations of what is known of a pod: the effects, what the runtime removes, and what stays of it.
fn table(sources: SourcesRead) -> String {
    let records = [
        ("no record", None),
        ("remembered", Some("")),
        ("removed", Some("added")),
        ("removed, ending", Some("worker added")),
        ("restored, ending", Some("worker")),
        ("desired", Some("source worker added")),
        ("desired, ended", Some("source worker added ended")),
        ("rejected", Some("source rejected added")),
        ("returning", Some("source returning added")),
        ("returning, inspected", Some("source returning added present")),
    ];
    let mut lines = String::new();
    for (name, text) in records {
        for (state, runtime) in [("-", None), ("dead", Some("s1")), ("runs", Some("s1!"))] {
            let pods: BTreeMap<PodUid, PodFacts> =
                text.map(|text| ("u".into(), record(text))).into_iter().collect();
            let runtime: Vec<RuntimePod> = runtime.map(|text| runtime_pod("u", text)).into_iter().collect();
            let done = decide(sources, &pods, &runtime, GcPolicy::default());
            let effects = done.effects.iter().map(|effect| match effect {
                Effect::End(_) => "end".to_owned(),
                Effect::KillOrphan(..) => "kill".to_owned(),
                Effect::BringBack(_) => "bring back".to_owned(),
                Effect::ForgetAdded(_) => "forget added".to_owned(),
                Effect::Forget(_) => "forget".to_owned(),
            });
            let removed = words(&done.garbage).into_iter().map(|id| format!("remove {id}"));
            let (uid, retained) = (PodUid::from("u"), &done.retained);
            let stays = [
                ("status", retained.is_known(&uid)),
                ("allocation", retained.keeps_allocation(&uid)),
                ("folders", retained.keeps_folders(&uid)),
            ];
            let stays: Vec<&str> =
                stays.into_iter().filter(|(_, stays)| *stays).map(|(name, _)| name).collect();
            let does = effects.chain(removed).collect::<Vec<_>>().join(", ");
            let stays = if stays.is_empty() { "-".to_owned() } else { stays.join(" ") };
            lines += &format!("{name:20} {state:4} | {does:18} | {stays}\n");
        }
    }
    lines
}

#[test]
fn nothing_ends_and_nothing_is_forgotten_before_all_sources_were_read() {
    for line in table(SourcesRead::None).lines() {
        assert!(line.ends_with("|                    | status allocation folders"), "{line}");
    }
}

#[test]
fn pods_that_no_source_added_are_left_alone_while_a_source_is_partly_unread() {
    expect![[r#"
        no record            -    |                    | allocation folders
        no record            dead |                    | allocation folders
        no record            runs |                    | allocation folders
        remembered           -    |                    | allocation folders
        remembered           dead |                    | allocation folders
        remembered           runs |                    | allocation folders
        removed              -    |                    | -
        removed              dead | remove s1          | folders
        removed              runs | kill               | status allocation folders
        removed, ending      -    | end                | status allocation folders
        removed, ending      dead | end                | status allocation folders
        removed, ending      runs | end                | status allocation folders
        restored, ending     -    | end                | status allocation folders
        restored, ending     dead | end                | status allocation folders
        restored, ending     runs | end                | status allocation folders
        desired              -    |                    | status allocation folders
        desired              dead |                    | status allocation folders
        desired              runs |                    | status allocation folders
        desired, ended       -    |                    | status allocation folders
        desired, ended       dead |                    | status allocation folders
        desired, ended       runs |                    | status allocation folders
        rejected             -    |                    | status allocation folders
        rejected             dead | remove s1          | status allocation folders
        rejected             runs | kill               | status allocation folders
        returning            -    | bring back         | status allocation folders
        returning            dead | remove s1          | status allocation folders
        returning            runs |                    | status allocation folders
        returning, inspected -    |                    | status allocation folders
        returning, inspected dead | remove s1          | status allocation folders
        returning, inspected runs |                    | status allocation folders
    "#]]
    .assert_eq(&table(SourcesRead::Partly));
}

#[test]
fn pods_that_no_source_has_end_and_are_forgotten_once_all_sources_were_read() {
    expect![[r#"
        no record            -    |                    | -
        no record            dead | remove s1          | folders
        no record            runs | kill               | status allocation folders
        remembered           -    | forget             | -
        remembered           dead | forget, remove s1  | folders
        remembered           runs | kill               | status allocation folders
        removed              -    | forget             | -
        removed              dead | remove s1          | folders
        removed              runs | kill               | status allocation folders
        removed, ending      -    | end                | status allocation folders
        removed, ending      dead | end                | status allocation folders
        removed, ending      runs | end                | status allocation folders
        restored, ending     -    | end                | status allocation folders
        restored, ending     dead | end                | status allocation folders
        restored, ending     runs | end                | status allocation folders
        desired              -    |                    | status allocation folders
        desired              dead |                    | status allocation folders
        desired              runs |                    | status allocation folders
        desired, ended       -    |                    | status allocation folders
        desired, ended       dead |                    | status allocation folders
        desired, ended       runs |                    | status allocation folders
        rejected             -    |                    | status allocation folders
        rejected             dead | remove s1          | status allocation folders
        rejected             runs | kill               | status allocation folders
        returning            -    | bring back         | status allocation folders
        returning            dead | remove s1          | status allocation folders
        returning            runs |                    | status allocation folders
        returning, inspected -    |                    | status allocation folders
        returning, inspected dead | remove s1          | status allocation folders
        returning, inspected runs |                    | status allocation folders
    "#]]
    .assert_eq(&table(SourcesRead::All));
}

#[test]
fn what_ended_pods_have_left_goes_when_the_node_needs_the_capacity() {
    let pods = BTreeMap::from([("u".into(), record("source worker added ended"))]);
    let runtime = [runtime_pod("u", "s1 app:c1@s1=exited")];
    for (evict_ended, expected) in [(false, ""), (true, "s1")] {
        let (sources, policy) = (SourcesRead::All, GcPolicy::default());
        let input = CleanUpInput { pods: &pods, runtime: &runtime, sources, evict_ended, policy, now: NOW };
        assert_eq!(words(&clean_up(input).garbage).join(" "), expected);
    }
}

#[test]
fn too_many_added_pods_are_not_remembered_while_a_source_is_unread() {
    let uid = |number: usize| PodUid::from(format!("u{number}").as_str());
    for (count, forgotten) in [(ADDED_MAX, 0), (ADDED_MAX + 1, ADDED_MAX + 1)] {
        let pods = (0..count).map(|number| (uid(number), record("added"))).collect();
        let done = decide(SourcesRead::Partly, &pods, &[], GcPolicy::default());
        assert_eq!(done.effects.len(), forgotten);
        assert_eq!(done.retained.keeps_folders(&uid(0)), forgotten > 0);
    }
}
