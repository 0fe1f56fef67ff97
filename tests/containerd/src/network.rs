//! A network namespace of the test's own: the bridge, the pods and containerd live in it, the host sees none of it.

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

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        // Whoever still holds it keeps it alive without a name; there is nothing better to do at this point.
        drop(run("ip", &["netns", "delete", &self.name]));
    }
}
