//! Files of the kernel.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// So much of a file is read: all of them are far smaller.
const BYTES_MAX: usize = 64 * 1024;
/// What the buffer grows by: most files fit into one step.
const BYTES_STEP: usize = 4096;

/// The file's text; none if it can't be read.
pub(crate) fn read(path: &Path) -> Option<String> {
    text(File::open(path).ok()?)
}

/// The text of an open file.
pub(crate) fn text(mut file: File) -> Option<String> {
    let mut text = vec![0; BYTES_STEP];
    let mut len = 0;
    while len < BYTES_MAX {
        if len == text.len() {
            text.resize(len + BYTES_STEP, 0);
        }
        match file.read(text.get_mut(len..)?) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    text.truncate(len);
    text.shrink_to_fit();
    String::from_utf8(text).ok()
}
