//! What is mounted, and unmounting it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::mount::{MountPropagationFlags, UnmountFlags};
use witlet_core::stats::cadvisor::BlockDevice;

#[cfg(test)]
mod tests;

/// Of this thread's mount namespace, which is the daemon's.
const MOUNTINFO: &str = "/proc/thread-self/mountinfo";
/// Bytes of the table of mounts that are read: hundreds of thousands of mounts.
const MOUNTINFO_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Components of a path such as `/dev/shm`, with the root.
const IN_MEMORY_DEPTH_MAX: usize = 3;
/// Checks the table until nothing is mounted any more: a check finds all, unless something is mounted meanwhile.
const PASSES_MAX: usize = 8;

/// Whether something is mounted at this path itself. Links aren't followed; no such file is an error.
pub(crate) fn is_mount_point(path: &Path) -> io::Result<bool> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let stat = rustix::fs::statx(CWD, path, flags, StatxFlags::BASIC_STATS)?;
    if stat.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel is older than 5.8"))
}

/// Unmounts what is mounted at this path itself, if anything is. Links aren't followed.
pub(crate) fn unmount_at(path: &Path) -> io::Result<()> {
    for _ in 0..PASSES_MAX {
        if !is_mount_point(path)? {
            return Ok(());
        }
        rustix::mount::unmount(path, UnmountFlags::NOFOLLOW)?;
    }
    Err(io::Error::other("mounts keep appearing"))
}

/// Unmounts all that is mounted at or below this folder, the last first. What is in use stays, with an error, and holds
/// up nothing else.
pub(crate) fn unmount_below(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let failed = |error| (folder.to_owned(), error);
    let folder = match folder.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        canonical => canonical.map_err(failed)?,
    };
    for pass in 1.. {
        let mounted = mounted_below(&folder).map_err(failed)?;
        if mounted.is_empty() {
            break;
        }
        let mut stuck = None;
        for path in mounted.into_iter().rev() {
            match rustix::mount::unmount(&path, UnmountFlags::NOFOLLOW) {
                // It went with another one.
                Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) if pass < PASSES_MAX => {}
                Ok(()) => stuck = Some((path, io::Error::other("mounts keep appearing"))),
                Err(error) => stuck = Some((path, error.into())),
            }
        }
        if let Some(stuck) = stuck {
            return Err(stuck);
        }
    }
    Ok(())
}

/// Makes the folder a mount whose mounts are seen in containers and the other way round, unless it lies in one
/// (upstream: `MakeRShared` of the root folder). Without it no pod can have `mountPropagation` where `/` is private. Needs
/// the right to mount. What is mounted below already stays visible.
///
/// # Errors
/// The folder can't be mounted, which needs root.
pub fn make_shared(folder: &Path) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    if is_shared(&read_table()?, &folder) {
        return Ok(());
    }
    rustix::mount::mount_bind_recursive(&folder, &folder)?;
    let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change(&folder, shared)?)
}

/// Whether the mount that a canonical folder lies in is shared: of mounts at one point the last one counts.
fn is_shared(table: &[u8], folder: &Path) -> bool {
    let mounts = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let point = unescape(fields.next()?);
        // Between the mount's options and a dash.
        let mut optional = fields.skip(1).take_while(|field| *field != b"-");
        Some((point, optional.any(|field| field.starts_with(b"shared:"))))
    });
    let around = mounts.filter(|(point, _)| folder.starts_with(point));
    around.max_by_key(|(point, _)| point.components().count()).is_some_and(|(_, shared)| shared)
}

/// The table of mounts, of this thread's mount namespace.
pub(crate) fn read_table() -> io::Result<Vec<u8>> {
    let mut table = Vec::new();
    File::open(MOUNTINFO)?.take(MOUNTINFO_BYTES_MAX).read_to_end(&mut table)?;
    Ok(table)
}

/// Mount points at or below a canonical folder, in the order in which they were mounted.
fn mounted_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(parse(&read_table()?, folder))
}

/// A file system on a block device, or in memory, where it was mounted first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountedFilesystem {
    /// Numbers of the device.
    pub(crate) device: BlockDevice,
    /// What it was mounted from.
    pub(crate) source: String,
    pub(crate) point: PathBuf,
    /// Whether it is in memory.
    pub(crate) is_in_memory: bool,
}

/// Kinds of file systems on a block device of the node.
const ON_DISK: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs"];

impl MountedFilesystem {
    /// What it is shown as: its source, or the folder where one in memory is mounted.
    pub(crate) fn name(&self) -> String {
        if self.is_in_memory { self.point.to_string_lossy().into_owned() } else { self.source.clone() }
    }
}

/// The node's own file systems: on block devices, and in memory near the root; each device and each name once. Subvolumes of btrfs have
/// one source and devices of their own. What pods and sandboxes have in memory is mounted deeper, and belongs to them.
pub(crate) fn filesystems(table: &[u8]) -> Vec<MountedFilesystem> {
    let mut all: Vec<MountedFilesystem> = Vec::new();
    for found in table.split(|byte| *byte == b'\n').filter_map(filesystem) {
        if all.iter().all(|known| known.device != found.device && known.name() != found.name()) {
            all.push(found);
        }
    }
    all
}

/// The node's own file systems. The table is read only when mounts have changed: with many pods it has thousands of lines, each of which the
/// kernel makes again.
#[derive(Debug, Default)]
pub(crate) struct KnownFilesystems {
    /// The table, open for its changes; none if they aren't known.
    table: Option<File>,
    found: Vec<MountedFilesystem>,
}

impl KnownFilesystems {
    /// Returns those that are mounted now; none if the table can't be read.
    pub(crate) fn current(&mut self) -> &[MountedFilesystem] {
        if self.table.as_ref().is_none_or(has_changed) {
            // What is mounted while the table is read counts as a change.
            let read = File::open(MOUNTINFO).and_then(|table| Ok((table, read_table()?)));
            (self.table, self.found) = match read {
                Ok((table, text)) => (Some(table), filesystems(&text)),
                Err(_) => (None, Vec::new()),
            };
        }
        &self.found
    }
}

/// Whether something was mounted or unmounted since the table was opened, or since this was asked last (`proc_pid_mounts(5)`).
fn has_changed(table: &File) -> bool {
    let mut asked = [PollFd::new(table, PollFlags::PRI)];
    match poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) => asked[0].revents().intersects(PollFlags::PRI | PollFlags::ERR),
        Err(_) => true,
    }
}

/// The third field is the device, the fifth the mount point; after the dash come the kind and the source.
fn filesystem(line: &[u8]) -> Option<MountedFilesystem> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let (device, point) = (std::str::from_utf8(fields.get(2)?).ok()?, unescape(fields.get(4)?));
    let (major, minor) = device.split_once(':')?;
    let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let kind = std::str::from_utf8(fields.get(dash + 1)?).ok()?;
    let is_in_memory = kind == "tmpfs";
    let is_near = point.components().count() <= IN_MEMORY_DEPTH_MAX;
    (ON_DISK.contains(&kind) || (is_in_memory && is_near)).then_some(())?;
    Some(MountedFilesystem {
        device: BlockDevice { major: major.parse().ok()?, minor: minor.parse().ok()? },
        source: unescape(fields.get(dash + 2)?).to_string_lossy().into_owned(),
        point,
        is_in_memory,
    })
}

/// The fifth field of each line is the mount point (`proc_pid_mountinfo(5)`).
fn parse(table: &[u8], folder: &Path) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescape);
    points.filter(|point| point.starts_with(folder)).collect()
}

/// Space, tab, newline, `#` and backslash are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.first_chunk::<3>().filter(|_| byte == b'\\').and_then(octal);
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn octal(digits: &[u8; 3]) -> Option<u8> {
    let mut value = 0_u32;
    for digit in digits {
        value = value * 8 + char::from(*digit).to_digit(8)?;
    }
    u8::try_from(value).ok()
}
