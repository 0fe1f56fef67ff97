//! Files that are replaced all at once: upstream's atomic writer.
//!
//! ```text
//! <volume>/..2026_01_02_03_04_05.123/a/b   what is there now
//! <volume>/..data -> ..2026_01_02_03_04_05.123
//! <volume>/a      -> ..data/a              what containers see
//! ```
//!
//! A reader sees the old files or the new ones. What a crash leaves next to is removed when files change next.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, fchown, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rand::Rng as _;
use witlet_core::volume::VolumeFile;

use crate::tree::{remove_entry, remove_tree};

#[cfg(test)]
mod tests;

const DATA: &str = "..data";
const DATA_NEW: &str = "..data_tmp";
/// How the disk says that a file isn't there.
const DIFFERS: [io::ErrorKind; 2] = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];

/// Makes the volume hold these files and no others. What is right already isn't written again. `own` receives each new
/// folder before it becomes visible.
pub(super) fn write(
    volume: &Path,
    files: &[VolumeFile],
    now: Timestamp,
    own: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let current = current(volume)?;
    let tops = files.iter().filter_map(|file| file.path.iter().next());
    let visible: BTreeSet<OsString> = tops.map(OsStr::to_owned).collect();
    if let Some(current) = &current
        && holds(&volume.join(current), files)?
        && links(volume)? == visible
    {
        return Ok(());
    }
    let name = format!("..{}.{}", now.strftime("%Y_%m_%d_%H_%M_%S"), rand::rng().random_range(0..u32::MAX));
    let fresh = volume.join(&name);
    let written = fill(&fresh, files).and_then(|()| own(&fresh)).and_then(|()| publish(volume, &name));
    if let Err(error) = written {
        // The first problem is the one to report.
        let _ = remove_tree(&fresh);
        return Err(error);
    }
    for name in &visible {
        match symlink(Path::new(DATA).join(name), volume.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    for stale in links(volume)?.iter().filter(|link| !visible.contains(*link)) {
        remove_entry(&volume.join(stale))?;
    }
    remove_old(volume, OsStr::new(&name))
}

/// Whether files were written here, and are still there.
pub(super) fn is_written(volume: &Path) -> io::Result<bool> {
    let Some(current) = current(volume)? else { return Ok(false) };
    match fs::symlink_metadata(volume.join(current)) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The folder that `..data` leads to; none if there is none yet, or it leads elsewhere.
fn current(volume: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_link(volume.join(DATA)) {
        Ok(target) => {
            let ours = target.components().count() == 1 && target.as_os_str().as_bytes().starts_with(b"..");
            Ok(Some(target).filter(|target| ours && target.as_os_str().len() > 2))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether each file is there with its content. What is there next to has no link that leads to it, or changes `links`,
/// except below a folder: then the count differs.
fn holds(folder: &Path, files: &[VolumeFile]) -> io::Result<bool> {
    for file in files {
        let path = folder.join(&file.path);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Ok(false),
            Err(error) if DIFFERS.contains(&error.kind()) => return Ok(false),
            Err(error) => return Err(error),
        }
        let found = File::open(path)?;
        let length = u64::try_from(file.content.len()).unwrap_or(u64::MAX);
        let mut content = Vec::with_capacity(file.content.len());
        found.take(length.saturating_add(1)).read_to_end(&mut content)?;
        if content != file.content {
            return Ok(false);
        }
    }
    match count(folder) {
        Err(error) if DIFFERS.contains(&error.kind()) => Ok(false),
        found => Ok(found? == files.len()),
    }
}

/// Files in a folder of ours, at any depth.
fn count(folder: &Path) -> io::Result<usize> {
    let mut files = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    Ok(files)
}

fn fill(folder: &Path, files: &[VolumeFile]) -> io::Result<()> {
    make_folder(folder)?;
    for file in files {
        let mut place = folder.to_owned();
        for name in file.path.parent().unwrap_or(Path::new("")) {
            place.push(name);
            match make_folder(&place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        let path = folder.join(&file.path);
        let mut made = OpenOptions::new().write(true).create_new(true).mode(file.mode).open(&path)?;
        made.write_all(&file.content)?;
        // The process's mask took bits away.
        made.set_permissions(fs::Permissions::from_mode(file.mode))?;
        if let Some(owner) = file.owner {
            // Where the agent may not give files away, the container may have access all the same.
            match fchown(&made, Some(owner), None) {
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
                Err(error) => {
                    tracing::warn!(path = %path.display(), owner, %error, "Failed to set owner of volume file");
                }
                Ok(()) => {}
            }
        }
    }
    Ok(())
}

/// 0755: any user of the container has to get through.
fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn publish(volume: &Path, name: &str) -> io::Result<()> {
    let new = volume.join(DATA_NEW);
    remove_entry(&new)?;
    symlink(name, &new)?;
    fs::rename(&new, volume.join(DATA))
}

/// Names that containers see.
fn links(volume: &Path) -> io::Result<BTreeSet<OsString>> {
    let names = names(volume)?;
    Ok(names.into_iter().filter(|name| !name.as_bytes().starts_with(b"..")).collect())
}

/// Removes the writer's own things except what is there now.
fn remove_old(volume: &Path, name: &OsStr) -> io::Result<()> {
    for old in names(volume)? {
        if old.as_bytes().starts_with(b"..") && old != DATA && old != name {
            remove_tree(&volume.join(old))?;
        }
    }
    Ok(())
}

fn names(volume: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(volume)?.map(|entry| Ok(entry?.file_name())).collect()
}
