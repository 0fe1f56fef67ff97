//! Rotating the logs that the runtime writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::BoxFuture;
use jiff::Timestamp;
use rustix::fs::{CWD, RenameFlags};
use witlet_core::error::one_line;
use witlet_core::logs::{PACKED, PACKING, rotated_name, rotation};
use witlet_ports::{ContainerLogs, FilesError, LogFiles, RotateError, RuntimeError};

use crate::logs::{check_log, names_below, open_regular};
use crate::tree::remove_entry;
use crate::{blocking, failed};

#[cfg(test)]
mod tests;

/// Logs below one folder: `<pod>/<container>/<n>.log`, and what was rotated away from them next to.
#[derive(Clone, Debug)]
pub struct NodeContainerLogs {
    logs: PathBuf,
}

impl NodeContainerLogs {
    /// `log_root` is the folder of all pods' logs (upstream: `/var/log/pods`).
    pub fn new(log_root: &Path) -> Self {
        Self { logs: log_root.to_owned() }
    }
}

#[async_trait]
impl ContainerLogs for NodeContainerLogs {
    async fn size(&self, log: &Path) -> Result<Option<u64>, FilesError> {
        check_log(log, &self.logs).map_err(failed("check", log))?;
        let log = log.to_owned();
        blocking("check", &log.clone(), move || match fs::symlink_metadata(&log) {
            Ok(found) if found.is_file() => Ok(Some(found.len())),
            Ok(_) => {
                let cause = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
                Err(failed("check", &log)(cause))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("check", &log)(error)),
        })
        .await
    }

    async fn rotate(
        &self,
        log: &Path,
        files_max: usize,
        now: Timestamp,
        reopen: BoxFuture<'_, Result<(), RuntimeError>>,
    ) -> Result<(), RotateError> {
        check_log(log, &self.logs).map_err(failed("rotate", log))?;
        let (logs, live) = (self.logs.clone(), log.to_owned());
        let rotated = blocking("rotate", log, move || {
            let rotated = clean_up(&logs, &live, files_max, now)?;
            // Two rotations within a second must not lose a log.
            rename(&live, &rotated).map_err(failed("rotate", &live))?;
            Ok(rotated)
        })
        .await?;
        let Err(error) = reopen.await else { return Ok(()) };
        let live = log.to_owned();
        let moved = blocking("move back", log, move || match rename(&rotated, &live) {
            // The runtime began a new one after all: both stay.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result.map_err(failed("move back", &live)),
        })
        .await;
        if let Err(error) = moved {
            tracing::error!(
                error = one_line(&error),
                "Failed to reopen a rotated log, it keeps its new name"
            );
        }
        Err(RotateError::Reopen(error))
    }
}

#[async_trait]
impl LogFiles for NodeContainerLogs {
    async fn open(&self, log: &Path) -> Result<Option<File>, FilesError> {
        check_log(log, &self.logs).map_err(failed("open", log))?;
        let (logs, log) = (self.logs.clone(), log.to_owned());
        blocking("open", &log.clone(), move || {
            let names = names_below(&log, &logs).unwrap_or_default();
            open_regular(&logs, &names).map_err(failed("open", &log))
        })
        .await
    }
}

/// Removes and packs older logs, and gives the name that the live one gets.
fn clean_up(logs: &Path, live: &Path, files_max: usize, now: Timestamp) -> Result<PathBuf, FilesError> {
    let folder = live.parent().unwrap_or(logs);
    let name = live.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let names = names(folder).map_err(failed("list", folder))?;
    let plan = rotation(name, names.iter().map(String::as_str), files_max);
    for old in &plan.remove {
        let path = folder.join(old);
        remove_entry(&path).map_err(failed("remove", &path))?;
    }
    for old in &plan.pack {
        let path = folder.join(old);
        pack(logs, &path).map_err(failed("pack", &path))?;
    }
    Ok(folder.join(rotated_name(name, now)))
}

/// Names in a folder; those that are no text are none of ours.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    names.filter_map(io::Result::transpose).collect()
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Packs next to and moves into place, so that a packed log is a whole one.
fn pack(logs: &Path, path: &Path) -> io::Result<()> {
    let names = names_below(path, logs).ok_or(io::ErrorKind::InvalidInput)?;
    let mut log = open_regular(logs, &names)?.ok_or(io::ErrorKind::NotFound)?;
    let temporary = with_end(path, PACKING);
    remove_entry(&temporary)?;
    let packed =
        pack_into(&mut log, &temporary).and_then(|()| fs::rename(&temporary, with_end(path, PACKED)));
    if let Err(error) = packed {
        // The first problem is the one to report; what is left is removed at the next rotation.
        let _ = remove_entry(&temporary);
        return Err(error);
    }
    fs::remove_file(path)
}

fn pack_into(log: &mut File, path: &Path) -> io::Result<()> {
    let metadata = log.metadata()?;
    let mode = metadata.permissions().mode() & 0o777;
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    let mut packed = GzEncoder::new(file, Compression::default());
    // A runtime that still writes to it must not keep this going.
    io::copy(&mut log.take(metadata.len()), &mut packed)?;
    packed.finish()?;
    Ok(())
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
