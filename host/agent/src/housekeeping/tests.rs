//! Tables of what is cleaned up.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use witlet_core::runtime::{ListedContainer, ListedSandbox};
use witlet_core::volume::{SubPath, VolumeSetUp};
use witlet_ports::{FilesError, VolumeError};

use super::*;
use crate::cgroups::tests::no_cgroups;
use crate::pleg::fixture::Machine as Disk;

const NOW: Timestamp = Timestamp::constant(3600, 0);

/// `s1!` is a ready sandbox, `s1` one that isn't; `app:c1@s1=running` a container. Newest first, as the runtime lists.
fn pod(text: &str) -> RuntimePod {
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
    RuntimePod { uid: PodUid::from("u"), name: "p".into(), namespace: "n".into(), sandboxes, containers }
}

fn shown(pod_text: &str, need: Need) -> String {
    let plan = plan(&[pod(pod_text)], |_| need, GcPolicy::default(), false, NOW);
    let mut words: Vec<String> = plan.kill.iter().map(|(_, name)| format!("kill {name}")).collect();
    words.extend(plan.containers.iter().map(|dead| dead.id.to_string()));
    words.extend(plan.sandboxes.iter().map(ToString::to_string));
    words.join(" ")
}

#[test]
fn of_a_pod_that_is_kept_only_older_dead_containers_and_empty_sandboxes_go() {
    for (name, pod, goes) in [
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
        assert_eq!(shown(pod, Need::Kept), goes, "{name}");
    }
}

#[test]
fn as_many_dead_containers_stay_as_the_settings_say() {
    let default = GcPolicy::default();
    let pod = [pod("s1! app:c4@s1=running app:c3@s1=exited app:c2@s1=exited app:c1@s1=exited")];
    for (name, policy, goes) in [
        ("one", default, "c1 c2"),
        ("none", GcPolicy { per_container_max: Some(0), ..default }, "c1 c2 c3"),
        ("two", GcPolicy { per_container_max: Some(2), ..default }, "c1"),
        ("any number", GcPolicy { per_container_max: None, ..default }, ""),
        ("two in all", GcPolicy { per_container_max: None, total_max: Some(2), ..default }, "c1"),
        ("young ones", GcPolicy { age_min: SignedDuration::from_hours(2), ..default }, ""),
    ] {
        let plan = plan(&pod, |_| Need::Kept, policy, false, NOW);
        let removed: Vec<&str> = plan.containers.iter().map(|dead| dead.id.as_str()).collect();
        assert_eq!(removed.join(" "), goes, "{name}");
    }
}

#[test]
fn what_nobody_wants_is_killed_first_and_removed_when_it_is_dead() {
    for (name, pod, unwanted, returning) in [
        ("running", "s1! app:c1@s1=running", "kill n/p", ""),
        ("only its sandbox", "s1!", "kill n/p", ""),
        ("dead", "s1 app:c2@s1=exited app:c1@s1=exited", "s1", "s1"),
        ("dead, several sandboxes", "s2 s1 app:c1@s1=exited", "s2 s1", "s2 s1"),
        ("a container without its sandbox", "app:c1@s9=exited", "c1", "c1"),
    ] {
        assert_eq!(shown(pod, Need::Unwanted), unwanted, "{name}");
        assert_eq!(shown(pod, Need::Returning), returning, "{name}");
    }
}

/// Folders of `old` and `new`; the pod `new` comes while they are listed.
#[derive(Default)]
struct Folders {
    came: AtomicBool,
    removed: Mutex<Vec<PodUid>>,
}

#[async_trait]
impl PodFiles for Folders {
    fn log_directory(&self, _: &PodFullName, _: &PodUid) -> PathBuf {
        PathBuf::new()
    }

    async fn ensure(&self, _: &PodFullName, _: &PodUid, _: &[String]) -> Result<(), FilesError> {
        Ok(())
    }

    async fn list(&self) -> Result<Vec<PodUid>, FilesError> {
        self.came.store(true, Ordering::Relaxed);
        Ok(vec![PodUid::from("new"), PodUid::from("old")])
    }

    async fn remove(&self, uid: &PodUid) -> Result<(), FilesError> {
        self.removed.lock().unwrap().push(uid.clone());
        Ok(())
    }

    async fn remove_log(&self, _: &Path) -> Result<(), FilesError> {
        Ok(())
    }
}

fn machine(files: Arc<dyn PodFiles>, disk: Arc<Disk>) -> Machine {
    Machine {
        files,
        volumes: disk.clone(),
        container_files: disk,
        removals: Arc::default(),
        cgroups: no_cgroups(),
    }
}

#[tokio::test]
async fn folders_of_a_pod_that_came_during_the_clean_up_stay() {
    let (folders, disk) = (Arc::new(Folders::default()), Arc::new(Disk::default()));
    let machine = machine(folders.clone(), disk);
    let is_known = |uid: &PodUid| folders.came.load(Ordering::Relaxed) && uid.as_str() == "new";
    remove_folders(&is_known, &machine).await;
    assert_eq!(*folders.removed.lock().unwrap(), [PodUid::from("old")]);
}

/// Volumes of the pod `new` are on a server that doesn't answer.
struct Stuck;

#[async_trait]
impl Volumes for Stuck {
    async fn set_up(&self, _: &PodUid, _: &VolumeSetUp) -> Result<PathBuf, VolumeError> {
        Ok(PathBuf::new())
    }

    async fn written(&self, _: &PodUid, _: &str, _: &str) -> Result<Option<PathBuf>, VolumeError> {
        Ok(None)
    }

    async fn sub_path(&self, _: &PodUid, _: &Path, _: &SubPath) -> Result<PathBuf, VolumeError> {
        Ok(PathBuf::new())
    }

    async fn read_file(&self, _: &Path, _: &Path, _: usize) -> Result<Option<Vec<u8>>, VolumeError> {
        Ok(None)
    }

    async fn tear_down(&self, uid: &PodUid) -> Result<(), VolumeError> {
        if uid.as_str() == "new" {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn volumes_that_hang_hold_up_no_other_pods_removal_and_are_tried_again() {
    let folders = Arc::new(Folders::default());
    let machine = Machine { volumes: Arc::new(Stuck), ..machine(folders.clone(), Arc::default()) };
    for round in 1..=2 {
        let begun = tokio::time::Instant::now();
        remove_folders(&|_| false, &machine).await;
        assert_eq!(begun.elapsed(), FOLDERS_OF_POD_MAX, "round {round}");
        assert_eq!(*folders.removed.lock().unwrap(), vec![PodUid::from("old"); round]);
    }
}

#[tokio::test]
async fn a_pod_counts_as_being_removed_before_it_is_asked_whether_anybody_knows_it() {
    let folders = Arc::new(Folders::default());
    let machine = machine(folders.clone(), Arc::default());
    let removals = machine.removals.clone();
    // Whoever comes after this question waits, for the answer may have been too early for him.
    remove_folders(&|uid| removals.begin(uid).is_some(), &machine).await;
    assert_eq!(folders.removed.lock().unwrap().len(), 2);
    for uid in ["new", "old"] {
        assert!(machine.removals.begin(&uid.into()).is_some(), "{uid}'s removal has ended");
    }
}
