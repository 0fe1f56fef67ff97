//! `hostPath`: what its type asks for is there, or is made.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use witlet_core::volume::HostPathCheck;
use witlet_ports::VolumeError;

use super::failed;

#[cfg(test)]
mod tests;

const OTHER: &str = "other kind of file";

pub(super) fn check(path: &Path, check: HostPathCheck) -> Result<(), VolumeError> {
    let is = |required: &'static str, expected: &'static str| match kind(path) {
        None => Err(VolumeError::HostPathMissing { path: path.to_owned() }),
        Some(found) if found == required => Ok(()),
        Some(found) => Err(VolumeError::HostPathType { path: path.to_owned(), expected, found }),
    };
    match check {
        HostPathCheck::Unset => Ok(()),
        HostPathCheck::DirectoryOrCreate if kind(path).is_none() => {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
            made.map_err(failed("create folder", path))
        }
        HostPathCheck::DirectoryOrCreate | HostPathCheck::Directory => is("Directory", "directory"),
        HostPathCheck::FileOrCreate if kind(path).is_none() => {
            // The folder has to be there.
            match OpenOptions::new().write(true).create_new(true).mode(0o644).open(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    Err(failed("create file", path)(error))
                }
                Ok(_) | Err(_) => Ok(()),
            }
        }
        HostPathCheck::FileOrCreate | HostPathCheck::File => is("File", "file"),
        HostPathCheck::Socket => is("Socket", "socket file"),
        HostPathCheck::CharDevice => is("CharDevice", "character device"),
        HostPathCheck::BlockDevice => is("BlockDevice", "block device"),
    }
}

/// What a path leads to, by the API's word; none if it can't be found out, as upstream has it.
fn kind(path: &Path) -> Option<&'static str> {
    let kind = fs::metadata(path).ok()?.file_type();
    let kinds = [
        (kind.is_dir(), "Directory"),
        (kind.is_file(), "File"),
        (kind.is_socket(), "Socket"),
        (kind.is_char_device(), "CharDevice"),
        (kind.is_block_device(), "BlockDevice"),
    ];
    Some(kinds.into_iter().find(|(is, _)| *is).map_or(OTHER, |(_, word)| word))
}
