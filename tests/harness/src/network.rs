//! A network namespace of the test's own: the bridge, the pods and containerd live in it, the host sees none of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::shell::{HarnessError, run};

/// Deleted with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct NetworkNamespace {
    name: String,
}

impl NetworkNamespace {
    /// Makes one with its loopback up.
    pub(crate) fn create(name: String) -> Result<Self, HarnessError> {
        run("ip", &["netns", "add", &name])?;
        let namespace = Self { name };
        run("ip", &["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// What `nsenter --net=` takes.
    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.name)
    }
}

/// Names of the network links in the namespace of the calling thread.
pub(crate) fn links() -> io::Result<Vec<String>> {
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    Ok(table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect())
}

/// Addresses that are handed out, as the plugin `host-local` keeps them below this folder.
pub(crate) fn addresses(folder: &Path) -> io::Result<Vec<String>> {
    let mut addresses = Vec::new();
    let networks = match fs::read_dir(folder) {
        Ok(networks) => networks,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(addresses),
        Err(error) => return Err(error),
    };
    for network in networks {
        for file in fs::read_dir(network?.path())? {
            let name = file?.file_name().to_string_lossy().into_owned();
            // Next to them: `lock` and `last_reserved_ip.0`.
            addresses.extend(name.starts_with(|first: char| first.is_ascii_digit()).then_some(name));
        }
    }
    Ok(addresses)
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        // A process that still holds it keeps it alive without a name; there is nothing better to do at this point.
        drop(run("ip", &["netns", "delete", &self.name]));
    }
}
