//! The port to the kernel's cgroups, one for each driver.

use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::cgroup::{CgroupFacts, PodCgroup, ResourceConfig};
use witlet_core::runtime::CgroupDriver;

use crate::NodeSystem;

/// Why something couldn't be done to a cgroup. What is in it is the kernel's or systemd's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CgroupError {
    /// The cgroup isn't there in trees of controllers that it has to be in (version 1).
    #[error("cgroup {name:?} has some missing paths: {paths}")]
    MissingPaths {
        /// Its path below the mount points.
        name: String,
        /// The folders that aren't there.
        paths: String,
    },
    /// The cgroup lacks controllers (version 2).
    #[error("cgroup {name:?} has some missing controllers: {controllers}")]
    MissingControllers {
        /// Its path below the mount point.
        name: String,
        controllers: String,
    },
    /// The cgroup's controllers can't be read (version 2): most often it isn't there.
    #[error("could not read controllers for cgroup {name:?}: {cause}")]
    UnreadControllers {
        /// Its path below the mount point.
        name: String,
        cause: Box<CgroupError>,
    },
    /// Controllers that pods need aren't mounted.
    #[error("system validation failed - Following Cgroup subsystem not mounted: [{controllers}]")]
    NotMounted { controllers: String },
    /// There are no cgroups here.
    #[error("failed to find cgroup mounts")]
    NoMounts,
    /// A file or folder couldn't be read, written, made or removed.
    #[error("{action} {path}: {problem}")]
    File {
        /// What was tried: `read`, `write`, `mkdir`, `rmdir`.
        action: &'static str,
        /// Which file; with the value, if one was written.
        path: String,
        problem: String,
        /// The cgroup or the file isn't there.
        not_found: bool,
    },
    /// The kernel took another value than the one that was written.
    #[error("the {bound} allowed cpu-shares is {allowed}")]
    Shares {
        /// `minimum` or `maximum`.
        bound: &'static str,
        allowed: i64,
    },
    /// A file says something unexpected.
    #[error("read {path}: {problem}")]
    Value {
        path: String,
        /// What is wrong with its content.
        problem: String,
    },
    /// Processes are left that can't be ended.
    #[error("failed to kill all the processes attached to the {name} cgroups : {problem}")]
    Processes { name: String, problem: String },
    /// systemd makes cgroups, and isn't there.
    #[error("systemd not running on this host, cannot use systemd cgroups manager")]
    NoSystemd,
    /// systemd can't be reached, or doesn't answer.
    #[error("failed to connect to systemd over D-Bus: {problem}")]
    SystemdAway {
        /// Why not, at each of its addresses.
        problem: String,
    },
    /// systemd refused, or didn't answer in time.
    #[error("{call} {unit}: {problem}")]
    Systemd {
        /// The method of its manager.
        call: &'static str,
        unit: String,
        problem: String,
    },
    /// The work itself was lost.
    #[error("the work on the cgroup didn't finish: {0}")]
    Lost(String),
}

impl CgroupError {
    /// Whether the cgroup isn't there at all, which ends a removal well.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::MissingPaths { .. } => true,
            Self::File { not_found, .. } => *not_found,
            Self::UnreadControllers { cause, .. } => cause.is_not_found(),
            Self::MissingControllers { .. }
            | Self::NotMounted { .. }
            | Self::NoMounts
            | Self::Shares { .. }
            | Self::Value { .. }
            | Self::Processes { .. }
            | Self::NoSystemd
            | Self::SystemdAway { .. }
            | Self::Systemd { .. }
            | Self::Lost(_) => false,
        }
    }
}

/// Cgroups by their path below the mount points of controllers, such as `/kubepods/burstable`.
#[async_trait]
pub trait Cgroups: Send + Sync {
    /// Returns what the machine's cgroups are like.
    fn facts(&self) -> &CgroupFacts;
    /// Checks whether all controllers that pods need are there.
    ///
    /// # Errors
    /// With their names, when some aren't.
    async fn check_controllers(&self) -> Result<(), CgroupError>;
    /// Checks whether the cgroup is there, with all that it needs.
    ///
    /// # Errors
    /// With what is missing.
    async fn validate(&self, path: &str) -> Result<(), CgroupError>;
    /// Makes the cgroup with those above it, and sets it. One that is there is set. As upstream has it, a value that can't be set
    /// is logged, and the cgroup counts as made.
    async fn create(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError>;
    /// Sets what the configuration has.
    async fn update(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError>;
    /// Returns what the cgroup has now.
    async fn read(&self, path: &str) -> Result<PodCgroup, CgroupError>;
    /// Ends all processes in the cgroup and below it with SIGKILL, and removes it. One that isn't there is removed.
    async fn remove(&self, path: &str) -> Result<(), CgroupError>;
    /// Paths of the cgroups directly below this one, in any tree, in order. None below one that isn't there.
    async fn children(&self, path: &str) -> Result<Vec<String>, CgroupError>;
}

/// The drivers that there are.
#[derive(Clone, Default)]
pub struct CgroupDrivers {
    /// The file system; none where the machine has no cgroups.
    pub cgroupfs: Option<Arc<dyn Cgroups>>,
    pub systemd: Option<Arc<dyn Cgroups>>,
    /// The machine's own processes and tunables; none where they are left as they are.
    pub system: Option<Arc<dyn NodeSystem>>,
}

impl CgroupDrivers {
    /// The one that is asked for, if it is there.
    pub fn of(&self, driver: CgroupDriver) -> Option<Arc<dyn Cgroups>> {
        match driver {
            CgroupDriver::Cgroupfs => self.cgroupfs.clone(),
            CgroupDriver::Systemd => self.systemd.clone(),
        }
    }
}
