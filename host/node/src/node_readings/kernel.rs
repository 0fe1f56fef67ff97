//! Files of the kernel.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// So much of a file is read: all of them are far smaller.
const BYTES_MAX: u64 = 64 * 1024;

/// The file's text; none if it can't be read.
pub(crate) fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text)).ok()?;
    Some(text)
}
