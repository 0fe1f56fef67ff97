//! Removing folders that workloads wrote to, however deep they made them.
//!
//! The standard library's `remove_dir_all` calls itself for each level of folders: some ten thousand of them end the
//! process for want of stack, and with it every workload.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

#[cfg(test)]
mod tests;

/// How often the folder is searched. Once for each level of a tree that is as deep as it has folders; someone who
/// goes on writing to it doesn't keep this going for ever.
const PASSES_MAX: usize = 10_000_000;

/// Removes a folder with all in it; links are removed and not followed. Its writers must have ended. What lies
/// deeper is moved up to the top first, so that neither the stack, nor open files, nor paths grow with the depth.
pub(crate) fn remove_folder(top: &Path) -> io::Result<()> {
    let mut moved = 0;
    for _ in 0..PASSES_MAX {
        let mut found = false;
        for entry in fs::read_dir(top)? {
            found = true;
            let entry = entry?;
            if !remove_file(&entry)? {
                for inner in fs::read_dir(entry.path())? {
                    let inner = inner?;
                    if !remove_file(&inner)? {
                        move_up(&inner.path(), top, &mut moved)?;
                    }
                }
                fs::remove_dir(entry.path())?;
            }
        }
        // A folder that changes while it is read may hide entries.
        if !found {
            return fs::remove_dir(top);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "files keep appearing in it"))
}

/// Removes what is no folder. Says whether it was that.
fn remove_file(entry: &DirEntry) -> io::Result<bool> {
    let is_file = !entry.file_type()?.is_dir();
    if is_file {
        fs::remove_file(entry.path())?;
    }
    Ok(is_file)
}

/// An empty folder of the new name would be replaced, which is as well.
fn move_up(folder: &Path, top: &Path, moved: &mut u64) -> io::Result<()> {
    const TAKEN: [io::ErrorKind; 3] =
        [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::AlreadyExists, io::ErrorKind::NotADirectory];
    loop {
        *moved += 1;
        match fs::rename(folder, top.join(format!(".removing-{moved}"))) {
            Err(error) if TAKEN.contains(&error.kind()) => {}
            result => return result,
        }
    }
}
