//! Opening a file that another process may exchange, if it is a regular one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{FileType, Mode, OFlags};

/// Opens for reading what is open without access (`O_PATH`). Nothing but a regular file: opening a device may already do
/// something, and a pipe would block. What was checked is what gets opened, because it can't be exchanged any more.
pub(crate) fn open_regular_at(place: impl AsFd) -> io::Result<File> {
    let stat = rustix::fs::fstat(&place)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let this = format!("/proc/self/fd/{}", place.as_fd().as_raw_fd());
    let opened = rustix::fs::open(this, OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(File::from(opened))
}
