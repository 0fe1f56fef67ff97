//! Open files of processes, and how many of them are sockets.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use rustix::fs::{Dir, Mode, OFlags, open, readlinkat_raw};
use witlet_core::stats::cadvisor::Processes;
use witlet_core::stats::freshness::{ListedFiles, UNCHANGED_MAX, sockets_are_known};

#[cfg(test)]
mod tests;

/// Open files that are checked in one reading: to list them takes time, and whether one is a socket a call to the kernel. Those beyond count
/// as files only, and where the kernel says how many a process has without a list (from 6.2 on).
const FILES_MAX: u32 = 50_000;
/// What the link of an open socket begins with.
const SOCKET: &[u8; 7] = b"socket:";

/// What processes had open at earlier readings, by their ids.
pub(super) type KnownFiles = HashMap<u32, ListedFiles>;

/// The open files of one reading.
pub(super) struct OpenFiles {
    now: Timestamp,
    /// How many may still be listed.
    left: Cell<u32>,
    known: RefCell<KnownFiles>,
}

impl OpenFiles {
    pub(super) fn new(known: KnownFiles, now: Timestamp) -> Self {
        Self { now, left: Cell::new(FILES_MAX), known: RefCell::new(known) }
    }

    /// What is known for the next reading. Processes that have ended go with what is too old.
    pub(super) fn into_known(self) -> KnownFiles {
        let mut known = self.known.into_inner();
        known.retain(|_, listed| self.now.duration_since(listed.at).abs() < UNCHANGED_MAX);
        known
    }

    /// Counts the open files of a process, which may have ended; `folder` is where the kernel lists them.
    pub(super) fn count(&self, pid: &str, folder: &Path, processes: &mut Processes) {
        let files = fs::metadata(folder).map_or(0, |folder| folder.len());
        let pid = pid.parse::<u32>().ok();
        let known = pid.and_then(|pid| self.known.borrow().get(&pid).copied());
        if let Some(listed) = known.filter(|listed| sockets_are_known(*listed, files, self.now)) {
            processes.file_descriptors += files;
            processes.sockets += listed.sockets;
            return;
        }
        let left = self.left.get();
        if left == 0 || files > u64::from(left) {
            processes.file_descriptors += files;
            return;
        }
        let mut listed = ListedFiles { at: self.now, files: 0, sockets: 0 };
        for is_socket in list(folder).take(usize::try_from(left).unwrap_or(usize::MAX)) {
            listed.files += 1;
            listed.sockets += u64::from(is_socket);
        }
        self.left.set(left.saturating_sub(u32::try_from(listed.files).unwrap_or(u32::MAX)));
        processes.file_descriptors += listed.files;
        processes.sockets += listed.sockets;
        if let Some(pid) = pid {
            self.known.borrow_mut().insert(pid, listed);
        }
    }
}

/// Whether it is a socket, of each open file of a process. Each is looked up from its folder, because a walk from the root costs as much again.
fn list(folder: &Path) -> impl Iterator<Item = bool> {
    let folder = open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    let entries = folder.as_ref().and_then(|folder| Dir::read_from(folder).ok());
    let files =
        entries.into_iter().flatten().flatten().filter(|file| !file.file_name().to_bytes().starts_with(b"."));
    files.map(move |file| {
        let mut target = [0; SOCKET.len()];
        let read =
            folder.as_ref().and_then(|folder| readlinkat_raw(folder, file.file_name(), &mut target).ok());
        read == Some(SOCKET.len()) && target == *SOCKET
    })
}
