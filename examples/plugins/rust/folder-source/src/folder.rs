//! The files of a folder.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use witlet_plugin_sdk::source::SourceError;

use crate::invalid;

/// The most bytes of a file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Names and texts of the folder's own files that end in `.json` and aren't hidden, sorted by name.
pub(crate) fn read(folder: &str) -> Result<Vec<(String, String)>, SourceError> {
    let mut names = names(Path::new(folder)).map_err(|cause| unavailable(folder, &cause))?;
    names.sort();
    names.into_iter().map(|name| text(folder, &name).map(|text| (name, text))).collect()
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // What has no name in UTF-8 isn't taken for a pod.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.ends_with(".json") && !name.starts_with('.') && entry.file_type()?.is_file() {
            names.push(name);
        }
    }
    Ok(names)
}

fn text(folder: &str, name: &str) -> Result<String, SourceError> {
    let path = Path::new(folder).join(name);
    let mut bytes = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|cause| unavailable(&path.display().to_string(), &cause))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(invalid(name, format_args!("must have at most {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| invalid(name, "it isn't UTF-8"))
}

/// Nothing is known about the pods: those of the last check go on.
fn unavailable(path: &str, cause: &io::Error) -> SourceError {
    SourceError::new("Unavailable", format!("read {path}: {cause}"))
}
