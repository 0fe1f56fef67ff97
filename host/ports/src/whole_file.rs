//! Files that are replaced whole: a reader finds the old content or the new one, whenever the process is killed or the machine loses
//! its power.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

#[cfg(test)]
mod tests;

/// How much of a file survives that the machine loses its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The new file, once this returns.
    Replaced,
    /// One of the two files, whole.
    Whole,
    /// Nothing, which is right for what no one needs afterwards. A reader finds, while the machine runs, one of the two, whole.
    None,
}

/// Writes the content to `unfinished`, which is in the same folder and is no one else's, and moves that into place. Both the file and
/// its folder are flushed to the disk. A failure leaves the old file, and no half of the new one. Blocks as long as the disk does.
///
/// # Errors
/// The disk fails.
pub fn replace_file(path: &Path, unfinished: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    replace_file_with(path, unfinished, content, mode, Durability::Replaced)
}

/// The same, as durable as it has to be.
///
/// # Errors
/// The disk fails.
pub fn replace_file_with(
    path: &Path,
    unfinished: &Path,
    content: &[u8],
    mode: u32,
    durability: Durability,
) -> io::Result<()> {
    // A link left there must not be written through.
    remove_file(unfinished)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(unfinished)?;
    let written = file
        .write_all(content)
        // Before the name leads to it: else the name may outlive a loss of power, and the content not.
        .and_then(|()| if durability == Durability::None { Ok(()) } else { file.sync_all() })
        .and_then(|()| fs::rename(unfinished, path));
    if written.is_err() {
        // A full disk must not stay full of halves.
        let _ = fs::remove_file(unfinished);
    }
    written?;
    match durability {
        Durability::Replaced => path.parent().map_or(Ok(()), sync_folder),
        Durability::Whole | Durability::None => Ok(()),
    }
}

/// Removes a file if it is there.
///
/// # Errors
/// The disk fails; a file that isn't there is no error.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Flushes the names in a folder to the disk.
///
/// # Errors
/// The disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}
