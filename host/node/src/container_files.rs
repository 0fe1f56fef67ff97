//! What the agent writes for containers, and reads of them: hosts files, termination messages, ends and links of logs.

mod log_tail;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;
use rand::Rng as _;
use rustix::fs::OFlags;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::ContainerId;
use witlet_ports::{ContainerFiles, FilesError};

use crate::logs::{check_log, names_below, open_regular};
use crate::{blocking, failed, stay_inside};

#[cfg(test)]
mod tests;

/// Longest name of a file, in bytes: what Linux takes. A longer link's name is cut, as upstream does.
const NAME_BYTES_MAX: usize = 255;
/// How the name of a link to a log ends.
const LINK_END: &str = ".log";
/// Folder below a pod's for termination messages.
const CONTAINERS: &str = "containers";
/// Folders below a pod's for its volumes, and for places in them that containers mount.
const VOLUMES: &str = "volumes";
const SUB_PATHS: &str = "volume-subpaths";
/// Name of a pod's hosts file.
const HOSTS: &str = "etc-hosts";
/// Bytes of a hosts file that are compared; a longer one is written again.
const HOSTS_BYTES_MAX: u64 = 1024 * 1024;
/// Fresh names that are tried for a termination message.
const NAMES_MAX: usize = 16;

/// `<root>/pods/<uid>/etc-hosts`, `<root>/pods/<uid>/containers/<container>/…`, the logs that the runtime writes, and
/// links to these in one folder (upstream: `/var/log/containers`).
#[derive(Clone, Debug)]
pub struct NodeContainerFiles {
    pods: PathBuf,
    logs: PathBuf,
    links: PathBuf,
}

impl NodeContainerFiles {
    /// `root` is the agent's own folder, `log_root` the one of all pods' logs, `links` the one of links to them.
    pub fn new(root: &Path, log_root: &Path, links: &Path) -> Self {
        Self { pods: root.join("pods"), logs: log_root.to_owned(), links: links.to_owned() }
    }
}

#[async_trait]
impl ContainerFiles for NodeContainerFiles {
    async fn write_hosts(&self, uid: &PodUid, content: &str) -> Result<PathBuf, FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        let path = self.pods.join(uid.as_str()).join(HOSTS);
        let (file, content) = (path.clone(), content.to_owned());
        blocking("write", &path.clone(), move || {
            write_hosts(&file, content.as_bytes()).map_err(failed("write", &file))?;
            Ok(file)
        })
        .await
    }

    async fn make_termination_log(
        &self,
        uid: &PodUid,
        container: &str,
        restart_count: u32,
    ) -> Result<PathBuf, FilesError> {
        stay_inside(uid.as_str(), &self.pods)?;
        stay_inside(container, &self.pods)?;
        let folder = self.pods.join(uid.as_str()).join(CONTAINERS).join(container);
        blocking("create", &folder.clone(), move || {
            make_termination_log(&folder, restart_count).map_err(failed("create file in", &folder))
        })
        .await
    }

    async fn read_termination_message(
        &self,
        path: &Path,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, FilesError> {
        let (pods, path) = (self.pods.clone(), path.to_owned());
        blocking("read", &path.clone(), move || {
            read_message(&pods, &path, bytes_max).map_err(failed("read", &path))
        })
        .await
    }

    async fn log_tail(&self, log: &Path, bytes_max: usize, lines_max: usize) -> Result<Vec<u8>, FilesError> {
        let (logs, log) = (self.logs.clone(), log.to_owned());
        blocking("read", &log.clone(), move || {
            read_log(&logs, &log, bytes_max, lines_max).map_err(failed("read", &log))
        })
        .await
    }

    async fn link_log(
        &self,
        full_name: &PodFullName,
        container: &str,
        id: &ContainerId,
        log: &Path,
    ) -> Result<(), FilesError> {
        check_log(log, &self.logs).map_err(failed("link to", log))?;
        let name = link_name(full_name, container, id);
        stay_inside(&name, &self.links)?;
        let (links, log) = (self.links.clone(), log.to_owned());
        blocking("link to", &log.clone(), move || link(&links, &name, &log).map_err(failed("link to", &log)))
            .await
    }

    async fn remove_dead_links(&self, running: &[ContainerId]) -> Result<(), FilesError> {
        let (links, logs) = (self.links.clone(), self.logs.clone());
        let running: Vec<String> = running.iter().map(|id| format!("-{id}{LINK_END}")).collect();
        blocking("clean up", &self.links, move || {
            remove_dead_links(&links, &logs, &running).map_err(failed("clean up", &links))
        })
        .await
    }
}

/// Written in place: running containers have this very file mounted.
fn write_hosts(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o750).create(folder)?;
    }
    let no_link = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644).custom_flags(no_link);
    let mut file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut found = Vec::new();
    Read::by_ref(&mut file).take(HOSTS_BYTES_MAX).read_to_end(&mut found)?;
    if found == content {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o644))?;
    // Over what is there, which has its blocks on the disk: cut off first, a full disk would leave nothing.
    file.seek(SeekFrom::Start(0))?;
    file.write_all(content)?;
    file.set_len(u64::try_from(content.len()).unwrap_or(u64::MAX))
}

fn make_termination_log(folder: &Path, restart_count: u32) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o750).create(folder)?;
    for _ in 0..NAMES_MAX {
        let path = folder.join(format!("{restart_count}-{:08x}", rand::rng().random_range(0..u32::MAX)));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                // Whatever user the container has, and whatever mask this process.
                made?.set_permissions(fs::Permissions::from_mode(0o666))?;
                return Ok(path);
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn read_message(pods: &Path, path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    // A volume may be mounted where the message is written. What is the pod's own lies in known places; another path is the
    // machine's, which the pod was given by `hostPath`.
    let of_pods =
        |names: &[&str]| matches!(names, [_, CONTAINERS, _, _] | [_, VOLUMES | SUB_PATHS, _, _, _, ..]);
    let root = Path::new("/");
    let place = match names_below(path, pods) {
        Some(names) => Some((pods, names)).filter(|(_, names)| of_pods(names)),
        None if path.starts_with(pods) => None,
        None => path_names(path).map(|names| (root, names)),
    };
    let (folder, names) = place.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "not a termination message of a container of this node")
    })?;
    open_regular(folder, &names)?.map(|file| read_end(file, bytes_max)).transpose()
}

/// The parts of an absolute path that leads straight to a file.
fn path_names(path: &Path) -> Option<Vec<&str>> {
    let parts = path.strip_prefix("/").ok()?.components();
    let names = parts.map(|part| match part {
        Component::Normal(name) => name.to_str(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    names.collect::<Option<Vec<_>>>().filter(|names| !names.is_empty())
}

fn read_log(logs: &Path, log: &Path, bytes_max: usize, lines_max: usize) -> io::Result<Vec<u8>> {
    check_log(log, logs)?;
    let names = names_below(log, logs).unwrap_or_default();
    let Some(file) = open_regular(logs, &names)? else { return Ok(Vec::new()) };
    let end = read_end(file, log_tail::bytes_needed(bytes_max, lines_max))?;
    Ok(log_tail::content(&end, bytes_max, lines_max))
}

/// The end of a file, which may grow meanwhile.
fn read_end(mut file: File, bytes_max: usize) -> io::Result<Vec<u8>> {
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut end = Vec::new();
    file.take(most.min(length)).read_to_end(&mut end)?;
    Ok(end)
}

fn link_name(full_name: &PodFullName, container: &str, id: &ContainerId) -> String {
    let mut name = format!("{}_{}_{container}-{id}", full_name.name, full_name.namespace);
    let mut end = name.len().min(NAME_BYTES_MAX - LINK_END.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    name + LINK_END
}

fn link(links: &Path, name: &str, log: &Path) -> io::Result<()> {
    // As upstream: no link to what isn't there.
    if log.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o755).create(links)?;
    let path = links.join(name);
    match fs::read_link(&path) {
        Ok(target) if target == log => return Ok(()),
        Ok(_) => fs::remove_file(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    symlink(log, path)
}

/// Goes on behind a link that can't be removed, and returns the first failure.
fn remove_dead_links(links: &Path, logs: &Path, running: &[String]) -> io::Result<()> {
    let entries = match fs::read_dir(links) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut problem = None;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        let is_running = || {
            let name = name.to_str().unwrap_or_default();
            running.iter().any(|end| name.ends_with(end))
        };
        let ours = fs::read_link(&path).is_ok_and(|target| is_log_of(&target, logs));
        let dead = || fs::metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if ours
            && dead()
            && !is_running()
            && let Err(error) = fs::remove_file(&path)
        {
            problem.get_or_insert(error);
        }
    }
    problem.map_or(Ok(()), Err)
}

fn is_log_of(target: &Path, logs: &Path) -> bool {
    check_log(target, logs).is_ok()
}
