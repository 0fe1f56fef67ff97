//! Removing a folder with all in it: links are removed and never followed, and what is mounted below stays.
//!
//! The standard library's `remove_dir_all` crosses into mounts, and holds a file open for each level of folders.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// Levels of folders that are held open at a time. What lies deeper is moved up to the top first, so that trees of any
/// depth need no more.
const LEVELS_MAX: usize = 64;

/// How often a folder is read again until nothing is in it: twice, unless it is the top of a very deep tree, or someone
/// goes on writing to it.
const PASSES_MAX: usize = 100_000;

/// Removes a file, or a folder with all in it. None there is no error. Something mounted in it is one (`CrossesDevices`
/// or `ResourceBusy`): it stays, and so do the folders above it, but all else is removed.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent =
        match rustix::fs::open(parent, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            parent => parent?,
        };
    let name = CString::new(name.as_encoded_bytes())?;
    let is_folder = match rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        stat => FileType::from_raw_mode(stat?.st_mode) == FileType::Directory,
    };
    if !is_folder {
        return Ok(rustix::fs::unlinkat(&parent, &name, AtFlags::empty())?);
    }
    let top = open_folder(parent.as_fd(), &name)?;
    Emptying { top: top.as_fd(), moved: 0 }.empty(top.as_fd(), 0)?;
    Ok(rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR)?)
}

/// Opens a folder that is no link and no mount point.
fn open_folder(parent: BorrowedFd<'_>, name: &CString) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    Ok(rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)?)
}

struct Emptying<'a> {
    top: BorrowedFd<'a>,
    moved: u64,
}

impl Emptying<'_> {
    /// Removes what is in the folder. Goes on behind an entry that can't be removed, and returns the first failure.
    fn empty(&mut self, folder: BorrowedFd<'_>, level: usize) -> io::Result<()> {
        for _ in 0..PASSES_MAX {
            let mut found = false;
            let mut problem = None;
            for entry in Dir::read_from(folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if name == c"." || name == c".." {
                    continue;
                }
                found = true;
                if let Err(error) = self.remove(folder, &name.to_owned(), entry.file_type(), level) {
                    problem.get_or_insert(error);
                }
            }
            match problem {
                Some(error) => return Err(error),
                None if !found => return Ok(()),
                // A folder that changes while it is read may hide entries.
                None => {}
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "files keep appearing in it"))
    }

    fn remove(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CString,
        kind: FileType,
        level: usize,
    ) -> io::Result<()> {
        if kind != FileType::Directory {
            match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
                Err(Errno::ISDIR) => {}
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        if level == LEVELS_MAX {
            return self.move_up(folder, name);
        }
        // Most folders of a deep tree aren't empty, but many of a wide one are.
        let inner = open_folder(folder, name)?;
        self.empty(inner.as_fd(), level + 1)?;
        drop(inner);
        match rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a folder to the top, where it's found at the next check.
    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &CString) -> io::Result<()> {
        loop {
            self.moved += 1;
            let free = format!(".removing-{}", self.moved);
            match rustix::fs::renameat_with(folder, name, self.top, free, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                result => return Ok(result?),
            }
        }
    }
}

/// Removes a file or an empty folder that no one needs, if it is there.
pub(crate) fn remove_entry(path: &Path) -> io::Result<()> {
    for flags in [AtFlags::empty(), AtFlags::REMOVEDIR] {
        match rustix::fs::unlinkat(CWD, path, flags) {
            Err(Errno::ISDIR) => {}
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
