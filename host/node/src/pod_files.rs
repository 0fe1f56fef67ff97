//! The folders of pods on this node.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use witlet_core::logs::{is_rotated, restart_count};
use witlet_core::pod::checkpoint::CHECKPOINT_BYTES_MAX;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_ports::{FilesError, PodFiles};

use crate::container_logs::names;
use crate::logs::{check_log, uid_of_logs};
use crate::regular::open_regular_at;
use crate::state_store::write as replace_file;
use crate::tree::{remove_entry, remove_tree};
use crate::{blocking, failed, is_folder_name, stay_inside};

#[cfg(test)]
mod tests;

/// The kubelet's file of a pod's ids, in its data folder.
const USER_NAMESPACE: &str = "userns";
/// Bytes of it that are read.
const USER_NAMESPACE_BYTES_MAX: u64 = 64 * 1024;
/// What the agent keeps of a pod in its data folder, under a name that no kubelet uses.
const CHECKPOINT: &str = "witlet-checkpoint.json";

/// `<root>/pods/<uid>` (0750, as upstream's) and `<log root>/<namespace>_<name>_<uid>/<container>` (0755, so that log
/// collectors can read).
#[derive(Clone, Debug)]
pub struct NodePodFiles {
    pods: PathBuf,
    logs: PathBuf,
}

impl NodePodFiles {
    /// `root` is the agent's own folder (upstream: `/var/lib/kubelet`), `log_root` the one that all pods' logs are in
    /// (upstream: `/var/log/pods`).
    pub fn new(root: &Path, log_root: &Path) -> Self {
        Self { pods: root.join("pods"), logs: log_root.to_owned() }
    }

    /// The folder for this pod's data.
    pub fn data_directory(&self, uid: &PodUid) -> PathBuf {
        self.pods.join(uid.as_str())
    }
}

#[async_trait]
impl PodFiles for NodePodFiles {
    fn log_directory(&self, full_name: &PodFullName, uid: &PodUid) -> PathBuf {
        self.logs.join(format!("{}_{}_{uid}", full_name.namespace, full_name.name))
    }

    async fn ensure(
        &self,
        full_name: &PodFullName,
        uid: &PodUid,
        containers: &[String],
    ) -> Result<(), FilesError> {
        let data = self.data_directory(uid);
        let logs = self.log_directory(full_name, uid);
        let parts = [uid.as_str(), &*full_name.namespace, &*full_name.name];
        for name in parts.into_iter().chain(containers.iter().map(String::as_str)) {
            stay_inside(name, &self.pods)?;
        }
        let mut folders = vec![(data.clone(), 0o750), (logs.clone(), 0o755)];
        folders.extend(containers.iter().map(|container| (logs.join(container), 0o755)));
        blocking("create folder", &data, move || {
            folders.iter().try_for_each(|(path, mode)| {
                DirBuilder::new()
                    .recursive(true)
                    .mode(*mode)
                    .create(path)
                    .map_err(failed("create folder", path))
            })
        })
        .await
    }

    async fn logged_restart_counts(
        &self,
        full_name: &PodFullName,
        uid: &PodUid,
        containers: &[String],
    ) -> Result<BTreeMap<String, u32>, FilesError> {
        let logs = self.log_directory(full_name, uid);
        let parts = [uid.as_str(), &*full_name.namespace, &*full_name.name];
        for name in parts.into_iter().chain(containers.iter().map(String::as_str)) {
            stay_inside(name, &self.pods)?;
        }
        let containers = containers.to_vec();
        blocking("list", &logs.clone(), move || {
            let mut counts = BTreeMap::new();
            // Most pods are new, and have no logs at all.
            if folders(&logs)?.is_empty() {
                return Ok(counts);
            }
            for container in containers {
                let folder = logs.join(&container);
                let count = newest_log(&folder).map_err(failed("list", &folder))?;
                counts.extend(count.map(|count| (container, count)));
            }
            Ok(counts)
        })
        .await
    }

    async fn user_namespace(&self, uid: &PodUid) -> Result<Option<Vec<u8>>, FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let path = self.data_directory(uid).join(USER_NAMESPACE);
        let at = path.clone();
        blocking("read", &path, move || {
            read_up_to(&at, USER_NAMESPACE_BYTES_MAX).map_err(failed("read", &at))
        })
        .await
    }

    async fn write_user_namespace(&self, uid: &PodUid, content: &[u8]) -> Result<(), FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let folder = self.data_directory(uid);
        let path = folder.join(USER_NAMESPACE);
        let (at, content) = (path.clone(), content.to_vec());
        blocking("write", &path, move || {
            let known = read_up_to(&at, USER_NAMESPACE_BYTES_MAX).map_err(failed("read", &at))?;
            match known.as_deref() == Some(content.as_slice()) {
                true => Ok(()),
                false => replace_file(&folder, &at, &content).map_err(failed("write", &at)),
            }
        })
        .await
    }

    async fn checkpoint(&self, uid: &PodUid) -> Result<Option<Vec<u8>>, FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let path = self.data_directory(uid).join(CHECKPOINT);
        let at = path.clone();
        blocking("read", &path, move || {
            read_up_to(&at, CHECKPOINT_BYTES_MAX as u64).map_err(failed("read", &at))
        })
        .await
    }

    async fn write_checkpoint(&self, uid: &PodUid, content: &[u8]) -> Result<(), FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let folder = self.data_directory(uid);
        let path = folder.join(CHECKPOINT);
        let (at, content) = (path.clone(), content.to_vec());
        blocking("write", &path, move || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o750)
                .create(&folder)
                .map_err(failed("create folder", &folder))?;
            replace_file(&folder, &at, &content).map_err(failed("write", &at))
        })
        .await
    }

    async fn remove_checkpoint(&self, uid: &PodUid) -> Result<(), FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let path = self.data_directory(uid).join(CHECKPOINT);
        let at = path.clone();
        blocking("remove", &path, move || match fs::remove_file(&at) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &at)(error)),
            Ok(()) | Err(_) => Ok(()),
        })
        .await
    }

    async fn list(&self) -> Result<Vec<PodUid>, FilesError> {
        let (pods, logs) = (self.pods.clone(), self.logs.clone());
        blocking("list", &self.pods, move || {
            let mut uids: Vec<PodUid> =
                folders(&pods)?.iter().map(|name| PodUid::from(name.as_str())).collect();
            uids.extend(folders(&logs)?.iter().filter_map(|name| uid_of_logs(name)).map(PodUid::from));
            uids.sort();
            uids.dedup();
            Ok(uids)
        })
        .await
    }

    async fn remove(&self, uid: &PodUid) -> Result<(), FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let (data, logs, uid) = (self.data_directory(uid), self.logs.clone(), uid.clone());
        blocking("remove", &data.clone(), move || {
            remove(&data)?;
            let own = folders(&logs)?;
            own.iter()
                .filter(|name| uid_of_logs(name) == Some(uid.as_str()))
                .try_for_each(|name| remove(&logs.join(name)))
        })
        .await
    }

    async fn remove_log(&self, path: &Path) -> Result<(), FilesError> {
        check_log(path, &self.logs).map_err(failed("remove", path))?;
        let log = path.to_owned();
        blocking("remove", path, move || remove_log(&log)).await
    }
}

/// A file's first bytes; none if there is no file. A link there wasn't made here.
fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(place) => place,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut content = Vec::new();
    open_regular_at(place)?.take(bytes_max).read_to_end(&mut content)?;
    Ok(Some(content))
}

/// Names of the real folders in `path`; links are none of ours. No such folder is an empty one.
fn folders(path: &Path) -> Result<Vec<String>, FilesError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("list", path)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("list", path))?;
        let is_folder = entry.file_type().map_err(failed("list", path))?.is_dir();
        if let Some(name) = entry.file_name().to_str().filter(|name| is_folder && is_folder_name(name)) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// The highest restart count of the logs in a container's folder. Links count as well: runtimes of old put some there.
fn newest_log(folder: &Path) -> io::Result<Option<u32>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut newest = None;
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            newest = newest.max(entry.file_name().to_str().and_then(restart_count));
        }
    }
    Ok(newest)
}

fn remove(path: &Path) -> Result<(), FilesError> {
    remove_tree(path).map_err(failed("remove", path))
}

/// The log, and what was rotated away from it.
fn remove_log(log: &Path) -> Result<(), FilesError> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    let names = match names(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.map_err(failed("list", folder))?,
    };
    names.iter().filter(|other| *other == name || is_rotated(name, other)).try_for_each(|own| {
        let path = folder.join(own);
        remove_entry(&path).map_err(failed("remove", &path))
    })
}
