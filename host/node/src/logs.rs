//! Where logs of containers lie, and opening one that a runtime's word leads to.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::is_folder_name;
use crate::regular::open_regular_at;

#[cfg(test)]
mod tests;

/// `<namespace>_<name>_<uid>`: none of the three can have an underscore.
pub(crate) fn uid_of_logs(folder: &str) -> Option<&str> {
    let mut parts = folder.split('_');
    let (_namespace, _name, uid) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && is_folder_name(uid)).then_some(uid)
}

/// `<pod>/<container>/<file>` below the folder of logs, with no step outside; a runtime's word is foreign.
pub(crate) fn is_log(path: &Path, logs: &Path) -> bool {
    names_below(path, logs)
        .is_some_and(|names| matches!(names[..], [pod, _, _] if uid_of_logs(pod).is_some()))
}

/// The parts of a path below a folder; none if it leads elsewhere, or a part can't be a name of ours.
pub(crate) fn names_below<'a>(path: &'a Path, folder: &Path) -> Option<Vec<&'a str>> {
    let below = path.strip_prefix(folder).ok()?;
    below
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str().filter(|name| is_folder_name(name)),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect()
}

/// Refuses a path that isn't a container's log.
pub(crate) fn check_log(path: &Path, logs: &Path) -> io::Result<()> {
    if is_log(path, logs) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a log of a container of this node"))
}

/// Opens a file below a folder for reading, through no link at all, and nothing but a regular file. None if there is none.
pub(crate) fn open_regular(folder: &Path, names: &[&str]) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let base = match rustix::fs::open(folder, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        base => base?,
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let path: PathBuf = names.iter().collect();
    let path_only = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(&base, &path, path_only, Mode::empty(), resolve) {
        Err(Errno::NOENT) => Ok(None),
        found => open_regular_at(found?).map(Some),
    }
}
