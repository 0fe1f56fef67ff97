//! A place below a volume, held so that nobody in the pod can exchange it for a way out.
//!
//! The kernel resolves the path and refuses every step outside (`RESOLVE_BENEATH`), links included; what it found is held
//! open, and that, not a path, is what gets mounted for the container.

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

/// How often a path is resolved anew while somebody moves folders in the volume, before the kernel's word stands.
const RESOLVE_ATTEMPTS: usize = 64;
/// How many mounts of earlier instances are taken off one place.
const MOUNTS_MAX: usize = 16;

/// Opens the place below the volume, which is made as a folder if it isn't there.
pub(super) fn open(volume: &Path, sub_path: &SubPath) -> Result<OwnedFd, VolumeError> {
    let place = volume.join(&sub_path.path);
    let names: Option<Vec<&Path>> = sub_path
        .path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| matches!(part, Component::Normal(_)).then(|| Path::new(part.as_os_str())))
        .collect();
    let escapes = || VolumeError::Escapes { volume: sub_path.volume.clone(), path: sub_path.path.clone() };
    let names = names.ok_or_else(escapes)?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let base = rustix::fs::open(volume, flags, Mode::empty()).map_err(failed("open", volume))?;
    let told = |error: Errno| match error {
        // A link or a `..` behind one leads out, or a folder was exchanged for a link meanwhile.
        Errno::XDEV | Errno::LOOP => escapes(),
        error => failed("open", &place)(error),
    };
    match beneath(base.as_fd(), &sub_path.path, flags, ResolveFlags::empty()) {
        Err(Errno::NOENT) => {}
        result => return result.map_err(told),
    }
    let mode = rustix::fs::fstat(&base).map_err(failed("look at", volume))?.st_mode;
    make(base.as_fd(), &names, Mode::from_raw_mode(mode & 0o2777)).map_err(told)
}

/// Makes the folders that aren't there yet, with the volume's mode. A made folder is never left through a link.
fn make(base: BorrowedFd<'_>, names: &[&Path], mode: Mode) -> Result<OwnedFd, Errno> {
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut current = beneath(base, Path::new("."), folder, ResolveFlags::empty())?;
    let mut missing = names;
    // The longest part of the path that is there.
    for length in (1..names.len()).rev() {
        let (there, rest) = names.split_at(length);
        match beneath(base, &there.iter().collect::<PathBuf>(), folder, ResolveFlags::empty()) {
            Err(Errno::NOENT) => {}
            found => {
                (current, missing) = (found?, rest);
                break;
            }
        }
    }
    for name in missing {
        match rustix::fs::mkdirat(&current, *name, mode) {
            // Another container was faster, or it is a link that leads nowhere; the next call tells.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        current = beneath(current.as_fd(), name, folder | OFlags::NOFOLLOW, ResolveFlags::NO_SYMLINKS)?;
    }
    // The process's mask took bits away.
    rustix::fs::fchmod(&current, mode)?;
    Ok(current)
}

fn beneath(base: BorrowedFd<'_>, path: &Path, flags: OFlags, more: ResolveFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    let mut result = Err(Errno::AGAIN);
    for _ in 0..RESOLVE_ATTEMPTS {
        result = rustix::fs::openat2(base, path, flags, Mode::empty(), resolve);
        if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    result
}

/// Mounts what is open at the target, unless the same is mounted there.
pub(super) fn bind(place: &OwnedFd, target: &Path) -> Result<(), VolumeError> {
    let wanted = rustix::fs::fstat(place).map_err(failed("look at", target))?;
    for _ in 0..MOUNTS_MAX {
        match is_mount_point(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Ok(false) => break,
            mounted => mounted.map_err(failed("look at", target))?,
        };
        let found = rustix::fs::lstat(target).map_err(failed("look at", target))?;
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino) {
            return Ok(());
        }
        rustix::mount::unmount(target, UnmountFlags::NOFOLLOW).map_err(failed("unmount", target))?;
    }
    make_target(FileType::from_raw_mode(wanted.st_mode), target)?;
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
