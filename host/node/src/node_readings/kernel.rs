//! Files of the kernel.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// So much of a file is read: all of them are far smaller.
const BYTES_MAX: usize = 64 * 1024;
/// What the buffer grows by: most files fit into one step, which is a page of the kernel's.
const BYTES_STEP: usize = 4096;
/// The kernel fills a page with lines, which are shorter than the rest of it, before it has more to be asked for: so little is all.
const SURELY_ALL: usize = BYTES_STEP / 2;

/// The file's text; none if it can't be read.
pub(crate) fn read(path: &Path) -> Option<String> {
    text(File::open(path).ok()?)
}

/// The text of an open file.
pub(crate) fn text(mut file: File) -> Option<String> {
    let mut step = [0; BYTES_STEP];
    let mut text = Vec::new();
    while text.len() < BYTES_MAX {
        let read = match file.read(&mut step) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        text.extend_from_slice(step.get(..read)?);
        if read == 0 || text.len() <= SURELY_ALL {
            break;
        }
    }
    String::from_utf8(text).ok()
}
