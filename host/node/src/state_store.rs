//! Small files that survive a restart, each written whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use witlet_ports::whole_file::replace_file;
use witlet_ports::{FilesError, StateStore};

use crate::{blocking, failed};

#[cfg(test)]
mod tests;

/// Bytes of one value.
pub const STATE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const NAME_BYTES_MAX: usize = 64;

/// Keeps each value in a file of its name in one folder, readable by the owner alone.
///
/// A value is written next to its place, flushed, and renamed into it; then the folder is flushed. After a power
/// failure there is the old value or the new one.
#[derive(Clone, Debug)]
pub struct FileStateStore {
    folder: PathBuf,
    /// Another folder, and the names that lie there.
    elsewhere: Option<(PathBuf, &'static [&'static str])>,
    /// One writer at a time: the file next to has one name.
    writing: Arc<Mutex<()>>,
}

impl FileStateStore {
    /// In this folder, which is made when the first value is saved.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), elsewhere: None, writing: Arc::default() }
    }

    /// Values of these names lie in another folder: files that a kubelet knows are in its root folder.
    #[must_use]
    pub fn with_folder_of(mut self, folder: impl Into<PathBuf>, names: &'static [&'static str]) -> Self {
        self.elsewhere = Some((folder.into(), names));
        self
    }

    fn folder_of(&self, name: &str) -> &Path {
        let elsewhere = self.elsewhere.as_ref().filter(|(_, names)| names.contains(&name));
        elsewhere.map_or(&self.folder, |(folder, _)| folder)
    }

    fn place(&self, action: &'static str, name: &str) -> Result<PathBuf, FilesError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let valid =
            (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain);
        if valid {
            return Ok(self.folder_of(name).join(name));
        }
        let cause = io::Error::new(
            io::ErrorKind::InvalidInput,
            "a name must have 1 to 64 letters, digits, `-`, `_` and `.`",
        );
        Err(FilesError { action, path: self.folder.join(name.replace('/', "_")), cause })
    }
}

#[async_trait]
impl StateStore for FileStateStore {
    async fn load(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        let path = self.place("read", name)?;
        let at = path.clone();
        blocking("read", &path, move || read(&at).map_err(failed("read", &at))).await
    }

    async fn save(&self, name: &str, value: &[u8]) -> Result<(), FilesError> {
        let path = self.place("write", name)?;
        if u64::try_from(value.len()).is_ok_and(|length| length > STATE_BYTES_MAX) {
            let cause = io::Error::new(io::ErrorKind::FileTooLarge, "the value must have at most 16 MiB");
            return Err(FilesError { action: "write", path, cause });
        }
        let _only_writer = self.writing.lock().await;
        let (folder, at, value) = (self.folder_of(name).to_owned(), path.clone(), value.to_vec());
        blocking("write", &path, move || write(&folder, &at, &value).map_err(failed("write", &at))).await
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut value = Vec::new();
    file.take(STATE_BYTES_MAX + 1).read_to_end(&mut value)?;
    if u64::try_from(value.len()).is_ok_and(|length| length > STATE_BYTES_MAX) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file must have at most 16 MiB"));
    }
    Ok(Some(value))
}

/// Replaces a file by way of another next to it, and flushes both it and its folder, which is made if need be.
pub(crate) fn write(folder: &Path, path: &Path, value: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    replace_file(path, &folder.join(format!(".{name}.new")), value, 0o600)
}
