//! Files of the command line, read within bounds: what is named may be a device, or grow while it is read.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

#[cfg(test)]
mod tests;

/// The bytes of a file, which has at most `bytes_max`.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    whole(File::open(path)?, bytes_max)
}

/// The text of a file, which has at most `bytes_max`.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> Result<String> {
    text(read(path, bytes_max)?)
}

/// Everything that this brings, which is at most `bytes_max`.
pub(crate) fn whole(from: impl Read, bytes_max: u64) -> Result<Vec<u8>> {
    let bytes = beginning(from, bytes_max)?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("the file must have at most {bytes_max} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads at most one byte more than `bytes_max`, which shows that there is more.
pub(crate) fn beginning(from: impl Read, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a file as text, in the words of manifests.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let message = format!("the file must be UTF-8 text: invalid byte at offset {offset}");
        Error::new(ErrorKind::InvalidData, message)
    })
}
