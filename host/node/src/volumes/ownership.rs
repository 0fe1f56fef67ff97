//! Who owns a volume's content: `fsGroup`, as upstream applies it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat};
use witlet_core::volume::Ownership;

#[cfg(test)]
mod tests;

/// Levels of folders that are inspected: each holds a file open.
const LEVELS_MAX: usize = 256;
/// New files get the folder's group.
const SET_GROUP_ID: u32 = 0o2000;

/// Mode bits that are added: the group may do what the owner of a volume may, and folders hand their group on.
pub(super) fn mask(owner: Ownership, is_folder: bool) -> u32 {
    let group = if owner.read_only { 0o440 } else { 0o660 };
    if is_folder { group | 0o110 | SET_GROUP_ID } else { group }
}

/// Gives a folder and all in it to the group. Links keep their mode, and nothing is followed. Where the agent may not
/// change an owner or a mode, that is logged and no error: the containers may have access all the same.
pub(super) fn give(root: &Path, owner: Ownership) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = rustix::fs::open(root, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&top)?;
    if owner.on_root_mismatch && !differs(&stat, owner) {
        return Ok(());
    }
    give_entry(top.as_fd(), &stat, root, owner, 0)
}

/// Whether the root of a volume isn't the group's yet (`fsGroupChangePolicy: OnRootMismatch`).
fn differs(stat: &Stat, owner: Ownership) -> bool {
    let expected = mask(owner, true);
    stat.st_gid != owner.gid || stat.st_mode & expected != expected
}

/// `entry` is open without access (`O_PATH`): what it leads to can't be exchanged.
fn give_entry(
    entry: BorrowedFd<'_>,
    stat: &Stat,
    path: &Path,
    owner: Ownership,
    level: usize,
) -> io::Result<()> {
    if level > LEVELS_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            format!("folders are nested deeper than {LEVELS_MAX}"),
        ));
    }
    let gid = Gid::from_raw(owner.gid);
    if let Err(error) = rustix::fs::chownat(entry, c"", None, Some(gid), AtFlags::EMPTY_PATH) {
        tracing::warn!(path = %path.display(), gid = owner.gid, %error, "Failed to set group of volume file");
    }
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Symlink {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 | mask(owner, kind == FileType::Directory));
    // There is no call that changes the mode of what is open without access.
    let this = format!("/proc/self/fd/{}", entry.as_raw_fd());
    if let Err(error) = rustix::fs::chmodat(CWD, this, mode, AtFlags::empty()) {
        tracing::warn!(path = %path.display(), ?mode, %error, "Failed to set mode of volume file");
    }
    if kind == FileType::Directory { give_content(entry, path, owner, level) } else { Ok(()) }
}

fn give_content(folder: BorrowedFd<'_>, path: &Path, owner: Ownership, level: usize) -> io::Result<()> {
    let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(folder, c".", readable, Mode::empty())?;
    for entry in Dir::read_from(&readable)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inner = match rustix::fs::openat(&readable, name, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => continue,
            inner => inner?,
        };
        let stat = rustix::fs::fstat(&inner)?;
        give_entry(inner.as_fd(), &stat, &path.join(&*name.to_string_lossy()), owner, level + 1)?;
    }
    Ok(())
}
