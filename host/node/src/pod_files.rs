//! The folders of pods on this node.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_ports::{FilesError, PodFiles};

use crate::{blocking, failed, is_folder_name};

#[cfg(test)]
mod tests;

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
        if !is_log(path, &self.logs) {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "it is no log of a container here");
            return Err(FilesError { action: "remove", path: path.to_owned(), cause });
        }
        let log = path.to_owned();
        blocking("remove", path, move || match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &log)(error)),
            Ok(()) | Err(_) => Ok(()),
        })
        .await
    }
}

/// Names reach here validated; this is the second lock on the door.
fn stay_inside(name: &str, folder: &Path) -> Result<(), FilesError> {
    if is_folder_name(name) {
        return Ok(());
    }
    let cause = io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} can't be a folder's name"));
    Err(FilesError { action: "use a name in", path: folder.to_owned(), cause })
}

/// `<pod>/<container>/<file>` below the folder of logs, with no step outside; a runtime's word is foreign.
fn is_log(path: &Path, logs: &Path) -> bool {
    let Ok(below) = path.strip_prefix(logs) else { return false };
    let names: Option<Vec<&str>> = below
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str().filter(|name| is_folder_name(name)),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    names.is_some_and(|names| matches!(names[..], [pod, _, _] if uid_of_logs(pod).is_some()))
}

/// `<namespace>_<name>_<uid>`: none of the three can have an underscore.
fn uid_of_logs(folder: &str) -> Option<&str> {
    let mut parts = folder.split('_');
    let (_namespace, _name, uid) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && is_folder_name(uid)).then_some(uid)
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

/// The standard library removes links, never what they lead to, and doesn't fall for folders swapped for links.
fn remove(path: &Path) -> Result<(), FilesError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
