//! Removals of folders while pods come, and while volumes hang.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use witlet_core::pod::PodFullName;
use witlet_core::volume::{SubPath, VolumeSetUp};
use witlet_ports::{FilesError, VolumeError};

use super::*;
use crate::cgroups::tests::no_cgroups;
use crate::pleg::fixture::Machine as Disk;

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

fn folders(files: Arc<dyn PodFiles>, volumes: Arc<dyn Volumes>) -> PodFolders {
    let (removals, metrics) = (Arc::default(), Arc::default());
    PodFolders { files, volumes, removals, cgroups: no_cgroups(), metrics }
}

#[tokio::test]
async fn folders_of_a_pod_that_came_during_the_clean_up_stay() {
    let files = Arc::new(Folders::default());
    let is_known = |uid: &PodUid| files.came.load(Ordering::Relaxed) && uid.as_str() == "new";
    folders(files.clone(), Arc::new(Disk::default())).remove_unknown(&is_known).await.expect("listed");
    assert_eq!(*files.removed.lock().unwrap(), [PodUid::from("old")]);
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
    let files = Arc::new(Folders::default());
    let folders = folders(files.clone(), Arc::new(Stuck));
    for round in 1..=2 {
        let begun = tokio::time::Instant::now();
        folders.remove_unknown(&|_| false).await.expect("listed");
        assert_eq!(begun.elapsed(), FOLDERS_OF_POD_MAX, "round {round}");
        assert_eq!(*files.removed.lock().unwrap(), vec![PodUid::from("old"); round]);
    }
}

#[tokio::test]
async fn removal_of_a_pod_begins_before_it_is_looked_up() {
    let files = Arc::new(Folders::default());
    let folders = folders(files.clone(), Arc::new(Disk::default()));
    let removals = folders.removals.clone();
    // A pod that comes after the lookup waits.
    folders.remove_unknown(&|uid| removals.begin(uid).is_some()).await.expect("listed");
    assert_eq!(files.removed.lock().unwrap().len(), 2);
    for uid in ["new", "old"] {
        assert!(removals.begin(&uid.into()).is_some(), "{uid}'s removal has ended");
    }
}
