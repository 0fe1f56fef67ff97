//! A file below a volume, read so that no one in the pod can exchange it for one outside.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use witlet_ports::VolumeError;

use super::failed;
use crate::regular::open_regular_at;

#[cfg(test)]
mod tests;

/// The content of a regular file; none if there is nothing. Links are followed as long as they stay in the volume, which
/// the kernel sees to. Never waits for what isn't a file, such as a pipe.
pub(super) fn read(volume: &Path, path: &Path, bytes_max: usize) -> Result<Option<Vec<u8>>, VolumeError> {
    let place = volume.join(path);
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let base = rustix::fs::open(volume, folder, Mode::empty()).map_err(failed("open", volume))?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let opened =
        rustix::io::retry_on_intr(|| rustix::fs::openat2(&base, path, flags, Mode::empty(), resolve));
    let opened = match opened {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::XDEV | Errno::LOOP) => {
            return Err(VolumeError::Escapes { volume: volume.display().to_string(), path: path.to_owned() });
        }
        Err(error) => return Err(failed("open", &place)(error)),
    };
    // Containers may make devices, but not open them: nor may they have the agent do it.
    let read = open_regular_at(opened).and_then(|file| read_whole(file, bytes_max));
    read.map(Some).map_err(failed("read", &place))
}

fn read_whole(file: File, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {bytes_max} bytes")));
    }
    Ok(content)
}
