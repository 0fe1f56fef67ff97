//! `emptyDir`: a folder that all users of the pod may write, on disk, in memory or in huge pages.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use witlet_core::volume::Ownership;
use witlet_ports::VolumeError;

use super::{failed, ownership};
use crate::mounts::is_mount_point;
use crate::tree::remove_tree;

/// Anyone may read, write and search: which user the containers have isn't known.
const MODE: u32 = 0o777;
/// The kernel's own mode for the root of a tmpfs.
const TMPFS_MODE: u32 = 0o1777;
/// `TMPFS_MAGIC` of `linux/magic.h`.
const TMPFS_MAGIC: u64 = 0x0102_1994;
/// `HUGETLBFS_MAGIC` of `linux/magic.h`.
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// A folder on disk. Whatever is there already is left as its containers made it.
pub(super) fn on_disk(path: &Path, owner: Option<Ownership>) -> Result<(), VolumeError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => return Err(failed("use as a folder", path)(io::Error::from(io::ErrorKind::NotADirectory))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("check", path)(error)),
    }
    // Made next to and moved into place, so that one that is there has its mode and its owner.
    let temporary = temporary(path);
    remove_tree(&temporary).map_err(failed("remove", &temporary))?;
    fs::DirBuilder::new().mode(MODE).create(&temporary).map_err(failed("create folder", &temporary))?;
    // The process's mask took bits away.
    fs::set_permissions(&temporary, fs::Permissions::from_mode(MODE))
        .map_err(failed("set mode of", &temporary))?;
    if let Some(owner) = owner {
        ownership::give(&temporary, owner).map_err(failed("set owner of", &temporary))?;
    }
    fs::rename(&temporary, path).map_err(failed("create folder", path))
}

/// Volumes' names don't begin with a dot.
fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".new.");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Mounts memory at the folder, unless it is there. The owner is part of the mount: there is no moment without.
pub(super) fn in_memory(path: &Path, size_bytes: Option<u64>, owner: Option<Ownership>) -> io::Result<()> {
    if is_mount_point(path)? && file_system(path)? == TMPFS_MAGIC {
        return Ok(());
    }
    let mut options: Vec<String> = size_bytes.map(|size| format!("size={size}")).into_iter().collect();
    if let Some(owner) = owner {
        let mode = TMPFS_MODE | ownership::mask(owner, true);
        options.extend([format!("gid={}", owner.gid), format!("mode={mode:o}")]);
    }
    // What is meant to be in memory must not go to the disk; kernels before 6.4 don't know the option.
    let with_swap = options.clone();
    options.push("noswap".to_owned());
    match mount("tmpfs", path, &options) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => mount("tmpfs", path, &with_swap),
        result => result,
    }
}

/// Mounts huge pages of this size at the folder, unless they are there.
pub(super) fn in_huge_pages(
    path: &Path,
    page_bytes: u64,
    owner: Option<Ownership>,
) -> Result<(), VolumeError> {
    let mounted = is_mount_point(path).map_err(failed("check", path))?;
    if mounted && file_system(path).map_err(failed("check", path))? == HUGETLBFS_MAGIC {
        let found = rustix::fs::statfs(path).map_err(failed("check", path))?;
        let found_bytes = u64::try_from(found.f_bsize).unwrap_or_default();
        return if found_bytes == page_bytes {
            Ok(())
        } else {
            Err(VolumeError::PageSize { path: path.to_owned(), found_bytes, desired_bytes: page_bytes })
        };
    }
    let mut options = vec![format!("pagesize={page_bytes}")];
    options.extend(owner.map(|owner| format!("gid={}", owner.gid)));
    mount("hugetlbfs", path, &options).map_err(failed("mount hugetlbfs at", path))?;
    match owner {
        Some(owner) => ownership::give(path, owner).map_err(failed("set owner of", path)),
        None => Ok(()),
    }
}

fn mount(kind: &str, path: &Path, options: &[String]) -> io::Result<()> {
    let options = CString::new(options.join(","))?;
    Ok(rustix::mount::mount(kind, path, kind, MountFlags::empty(), options.as_c_str())?)
}

fn file_system(path: &Path) -> io::Result<u64> {
    Ok(u64::try_from(rustix::fs::statfs(path)?.f_type).unwrap_or_default())
}
