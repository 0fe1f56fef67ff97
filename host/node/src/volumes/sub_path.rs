//! A place below a volume, held so that no one in the pod can exchange it for a way out.
//!
//! Links within the volume are followed, as upstream does, to learn where the place really is; then the kernel opens that
//! path from the volume and refuses any link on it (`RESOLVE_NO_SYMLINKS`), such as one that was put there meanwhile. What it
//! found is held open, and that, not a path, is what gets mounted for the container.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags};
use witlet_core::volume::SubPath;
use witlet_ports::VolumeError;

use super::failed;
use crate::mounts::is_mount_point;
use crate::tree::remove_entry;

/// How many mounts of earlier instances are taken off one place.
const MOUNTS_MAX: usize = 16;

/// Opens the place below the volume, which is made as a folder if it isn't there.
pub(super) fn open(volume: &Path, sub_path: &SubPath) -> Result<OwnedFd, VolumeError> {
    let place = volume.join(&sub_path.path);
    let escapes = || VolumeError::Escapes { volume: sub_path.volume.clone(), path: sub_path.path.clone() };
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !sub_path.path.components().all(inside) {
        return Err(escapes());
    }
    let volume = volume.canonicalize().map_err(failed("open", volume))?;
    let (there, missing) = existing(&volume, &sub_path.path).map_err(failed("open", &place))?;
    let there = there.strip_prefix(&volume).map_err(|_| escapes())?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let base = rustix::fs::open(&volume, flags, Mode::empty()).map_err(failed("open", &volume))?;
    let reported = |error: Errno| match error {
        // What was a folder a moment ago is a link now.
        Errno::XDEV | Errno::LOOP => escapes(),
        error => failed("open", &place)(error),
    };
    if missing.is_empty() {
        return beneath(base.as_fd(), there, flags).map_err(reported);
    }
    let mode = rustix::fs::fstat(&base).map_err(failed("check", &volume))?.st_mode;
    make(base.as_fd(), there, &missing, Mode::from_raw_mode(mode & 0o7777)).map_err(reported)
}

/// The longest part of the path that is there, without links, and the names behind it.
fn existing<'a>(volume: &Path, path: &'a Path) -> io::Result<(PathBuf, Vec<&'a OsStr>)> {
    let mut there = path;
    let mut missing = Vec::new();
    loop {
        match volume.join(there).canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return Ok((found?, missing.into_iter().rev().collect())),
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        missing.push(name);
        there = parent;
    }
}

/// Makes the missing folders one in the other, with the volume's mode. None of them is left through a link.
fn make(base: BorrowedFd<'_>, there: &Path, missing: &[&OsStr], mode: Mode) -> Result<OwnedFd, Errno> {
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut current = beneath(base, there, folder)?;
    for name in missing {
        match rustix::fs::mkdirat(&current, *name, mode) {
            // Another container was faster, or it is a link that leads nowhere; the next call shows which.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        current = beneath(current.as_fd(), Path::new(name), folder)?;
    }
    // The process's mask took bits away.
    rustix::fs::fchmod(&current, mode)?;
    Ok(current)
}

/// Opens what is below a folder, through no link at all. Without `O_NOFOLLOW`: with it, a link at the end would itself be
/// opened, and later followed.
fn beneath(base: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(base, path, flags, Mode::empty(), resolve))
}

/// Mounts what is open at the target, unless the same is mounted there.
pub(super) fn bind(place: &OwnedFd, target: &Path) -> Result<(), VolumeError> {
    let expected = rustix::fs::fstat(place).map_err(failed("check", target))?;
    for _ in 0..MOUNTS_MAX {
        match is_mount_point(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Ok(false) => break,
            mounted => mounted.map_err(failed("check", target))?,
        };
        let found = rustix::fs::lstat(target).map_err(failed("check", target))?;
        if (found.st_dev, found.st_ino) == (expected.st_dev, expected.st_ino) {
            return Ok(());
        }
        rustix::mount::unmount(target, UnmountFlags::NOFOLLOW).map_err(failed("unmount", target))?;
    }
    make_target(FileType::from_raw_mode(expected.st_mode), target)?;
    let tree =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let mounted = rustix::mount::open_tree(place, c"", tree).and_then(|tree| {
        rustix::mount::move_mount(&tree, c"", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
    });
    mounted.map_err(|error| {
        // Nothing is left of a mount that didn't come about.
        let _ = remove_entry(target);
        failed("mount sub-path at", target)(error)
    })
}

/// A folder for a folder; a file serves all else.
fn make_target(kind: FileType, target: &Path) -> Result<(), VolumeError> {
    let there = rustix::fs::statat(CWD, target, AtFlags::SYMLINK_NOFOLLOW);
    let is_folder = there.map(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    if is_folder == Ok(kind == FileType::Directory) {
        return Ok(());
    }
    remove_entry(target).map_err(failed("remove", target))?;
    let made = if kind == FileType::Directory {
        fs::DirBuilder::new().mode(0o750).create(target)
    } else {
        fs::OpenOptions::new().write(true).create_new(true).mode(0o640).open(target).map(drop)
    };
    made.map_err(failed("create", target))
}
