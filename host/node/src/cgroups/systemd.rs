//! Cgroups that systemd makes: the driver `systemd`. Limits are put into transient slices, and into the files of their cgroups
//! after that, because systemd knows a part of them only.

mod bus;
mod private;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use witlet_core::cgroup::{
    CgroupFacts, PodCgroup, ResourceConfig, SliceUnit, set_properties, start_properties,
};
use witlet_ports::{CgroupError, Cgroups};

use super::{CgroupFs, KILLS_MAX, processes};
use bus::{Address, Systemd};

/// There where systemd is the init (`sd_booted`).
const BOOTED: &str = "/run/systemd/system";
/// systemd's own socket, for root; it needs no message bus.
const PRIVATE: &str = "/run/systemd/private";

/// The kernel's cgroups, as slices of systemd.
pub struct SystemdCgroups {
    files: CgroupFs,
    systemd: Systemd,
    booted: PathBuf,
}

impl SystemdCgroups {
    /// The machine's own. systemd isn't asked for anything yet.
    pub fn system(files: CgroupFs) -> Self {
        let addresses = vec![Address::SystemBus, Address::Private(PRIVATE.into())];
        Self::at(files, addresses, Path::new(BOOTED))
    }

    /// Those of the systemd at the first of these addresses that answers.
    fn at(files: CgroupFs, addresses: Vec<Address>, booted: &Path) -> Self {
        Self { files, systemd: Systemd::new(addresses), booted: booted.to_owned() }
    }

    async fn set(&self, path: &str, unit: &SliceUnit, config: &ResourceConfig) -> Result<(), CgroupError> {
        let release = self.systemd.release().await?;
        let (properties, files) = set_properties(config, self.facts().version, release);
        self.systemd.set(&unit.name, &properties).await?;
        let path = path.to_owned();
        self.files.work(move |tree| tree.set(&path, &files)).await
    }
}

fn unit_at(path: &str) -> Result<SliceUnit, CgroupError> {
    let problem = || "it is no slice".to_owned();
    SliceUnit::at(path).ok_or_else(|| CgroupError::Value { path: path.to_owned(), problem: problem() })
}

#[async_trait]
impl Cgroups for SystemdCgroups {
    fn facts(&self) -> &CgroupFacts {
        self.files.facts()
    }

    async fn check_controllers(&self) -> Result<(), CgroupError> {
        self.files.check_controllers().await?;
        if !self.booted.is_dir() {
            return Err(CgroupError::NoSystemd);
        }
        self.systemd.release().await.map(|_| ())
    }

    async fn validate(&self, path: &str) -> Result<(), CgroupError> {
        self.files.validate(path).await
    }

    async fn create(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        let unit = unit_at(path)?;
        self.systemd.start(&unit.name, &start_properties(&unit, self.facts().version)).await?;
        // systemd makes the folders that its own properties need; the others are made here.
        let (of, first) = (path.to_owned(), config.clone());
        self.files.work(move |tree| tree.make(&of, &first)).await?;
        if let Err(error) = self.set(path, &unit, config).await {
            tracing::error!(cgroup = path, %error, "cgroup manager.Set failed");
        }
        Ok(())
    }

    async fn update(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        self.set(path, &unit_at(path)?, config).await
    }

    async fn read(&self, path: &str) -> Result<PodCgroup, CgroupError> {
        self.files.read(path).await
    }

    async fn remove(&self, path: &str) -> Result<(), CgroupError> {
        let (unit, of) = (unit_at(path)?, path.to_owned());
        self.files.work(move |tree| processes::kill_all(&of, &tree.folders(&of), KILLS_MAX)).await?;
        self.systemd.stop(&unit.name).await?;
        // What was made without systemd, and what older releases leave.
        self.files.remove_folders(path).await
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, CgroupError> {
        self.files.children(path).await
    }
}
