//! Files of the machine that pods' own are made from: resolv.conf and hosts.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use witlet_ports::{FilesError, HostFiles};

use crate::{blocking, failed};

#[cfg(test)]
mod tests;

/// Neither file is larger, in bytes, on a machine that works.
const HOST_FILE_BYTES_MAX: u64 = 1 << 20;

/// The machine's own files, or others in their place.
#[derive(Clone, Debug)]
pub struct NodeHostFiles {
    resolv_conf: Option<PathBuf>,
    etc_hosts: PathBuf,
}

impl NodeHostFiles {
    /// `resolv_conf` is what pods are given the content of (upstream: `resolvConf`); none gives them an empty one.
    pub fn new(resolv_conf: Option<PathBuf>) -> Self {
        Self { resolv_conf, etc_hosts: PathBuf::from("/etc/hosts") }
    }

    async fn read(path: &Path) -> Result<Option<String>, FilesError> {
        let file = path.to_owned();
        blocking("read", path, move || match File::open(&file) {
            Ok(open) => text(open).map(Some).map_err(failed("read", &file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &file)(error)),
        })
        .await
    }
}

/// What isn't text is replaced, so that one odd byte in a comment doesn't keep all pods from starting.
fn text(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(HOST_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > HOST_FILE_BYTES_MAX {
        return Err(io::Error::other(format!("must have at most {HOST_FILE_BYTES_MAX} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[async_trait]
impl HostFiles for NodeHostFiles {
    fn resolv_conf_place(&self) -> String {
        self.resolv_conf.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// A file that was named and isn't there is an error: pods must not start without the names that they are promised.
    async fn resolv_conf(&self) -> Result<Option<String>, FilesError> {
        let Some(path) = &self.resolv_conf else { return Ok(None) };
        match Self::read(path).await? {
            Some(text) => Ok(Some(text)),
            None => {
                let cause = io::Error::new(io::ErrorKind::NotFound, "file not found; set --resolv-conf");
                Err(FilesError { action: "read", path: path.clone(), cause })
            }
        }
    }

    async fn etc_hosts(&self) -> Result<String, FilesError> {
        Ok(Self::read(&self.etc_hosts).await?.unwrap_or_default())
    }
}
