//! Names of cgroups, and the paths that the two drivers give them (`cm/cgroup_manager_linux.go`).

use std::fmt;

use thiserror::Error;

use crate::runtime::CgroupDriver;

/// What names of systemd's slices end with.
const SLICE: &str = ".slice";

/// A cgroup by the parts of its name from the root, the same for both drivers. Without parts it is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CgroupName(Vec<String>);

/// A part that no cgroup can be named by: `/` separates parts, and `_` is how systemd's slices write `-`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid character in component [{0:?}] of CgroupName")]
pub struct InvalidPart(pub String);

impl CgroupName {
    /// The root of all cgroups.
    pub fn root() -> Self {
        Self::default()
    }

    /// The parts from the root.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    /// The cgroup of this name below this one.
    ///
    /// # Errors
    /// When the name has a character that names of cgroups can't have.
    pub fn child(&self, part: &str) -> Result<Self, InvalidPart> {
        if part.contains(['/', '_']) {
            return Err(InvalidPart(part.to_owned()));
        }
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Ok(Self(parts))
    }

    /// The cgroup below the mount points of the kernel's controllers, with a `/` at its beginning.
    pub fn path(&self, driver: CgroupDriver) -> String {
        match driver {
            CgroupDriver::Cgroupfs => self.cgroupfs(),
            CgroupDriver::Systemd => self.systemd(),
        }
    }

    fn cgroupfs(&self) -> String {
        let parts: Vec<&str> = self.0.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        format!("/{}", parts.join("/"))
    }

    /// A slice's path holds all slices that its name says it is in.
    fn systemd(&self) -> String {
        if self.is_root() {
            return "/".to_owned();
        }
        let mut path = String::new();
        let mut unit = String::new();
        for part in self.0.iter().filter(|part| !part.is_empty()) {
            if !unit.is_empty() {
                unit.push('-');
            }
            unit.push_str(&part.replace('-', "_"));
            path.push('/');
            path.push_str(&unit);
            path.push_str(SLICE);
        }
        path
    }

    /// The name that a driver gives this path.
    pub fn parse(path: &str, driver: CgroupDriver) -> Self {
        match driver {
            CgroupDriver::Cgroupfs => {
                let path = path.strip_prefix('/').unwrap_or(path);
                let parts = path.split('/').filter(|part| !part.is_empty());
                Self(parts.map(str::to_owned).collect())
            }
            CgroupDriver::Systemd => {
                let unit = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let unit = unit.strip_suffix(SLICE).unwrap_or(unit);
                Self(unit.split('-').map(|part| part.replace('_', "-")).collect())
            }
        }
    }
}

impl fmt::Display for CgroupName {
    /// Writes it as upstream's messages do: `[kubepods burstable]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.0.join(" "))
    }
}
