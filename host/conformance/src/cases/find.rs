//! Which case files there are.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::model::{CaseFile, CasesError, FILE_BYTES_MAX};

/// How many case files a folder may have.
const FILES_MAX: usize = 64;

/// The case files that a path names (a file, or a folder of them), by name.
///
/// # Errors
///
/// When one can't be read or taken, or when a folder has none.
pub fn find(path: &Path) -> Result<Vec<CaseFile>, CasesError> {
    if !path.is_dir() {
        return Ok(vec![CaseFile::read(path)?]);
    }
    let files = folder(path)?;
    if files.is_empty() {
        return Err(CasesError::NoFiles { path: path.to_owned() });
    }
    files.iter().map(|file| CaseFile::read(file)).collect()
}

/// The case files next to a component, for when none is named: `cases.yaml`, or those of the folder `cases`. Empty if there
/// are none.
///
/// # Errors
///
/// When one is there and can't be read or taken.
pub fn next_to(component: &Path) -> Result<Vec<CaseFile>, CasesError> {
    let folder = component.parent().unwrap_or(Path::new(""));
    for name in ["cases.yaml", "cases.yml", "cases.json", "cases"] {
        let path = folder.join(name);
        if path.is_file() || (path.is_dir() && !self::folder(&path)?.is_empty()) {
            return find(&path);
        }
    }
    Ok(Vec::new())
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, CasesError> {
    let read_error = |cause| CasesError::Read { path: path.to_owned(), cause };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read_error)? {
        let file = entry.map_err(read_error)?.path();
        let known = file.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        if known && files.len() < FILES_MAX {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

impl CaseFile {
    /// Reads a case file.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`], and when it can't be read.
    pub fn read(path: &Path) -> Result<Self, CasesError> {
        let read_error = |cause| CasesError::Read { path: path.to_owned(), cause };
        let file = std::fs::File::open(path).map_err(read_error)?;
        let mut text = String::new();
        let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_string(&mut text).map_err(read_error)?;
        // What is too large is refused by the parser, with the file's name.
        Self::parse(&path.display().to_string(), &text)
    }
}
