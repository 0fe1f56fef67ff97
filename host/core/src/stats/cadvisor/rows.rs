//! The cgroups that are shown.

use super::details::CgroupDetails;
use super::disks::FilesystemUsage;
use jiff::Timestamp;

use crate::stats::network::InterfaceUsage;

/// A cgroup with all that is shown of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub labels: RowLabels,
    /// When it was made, or its container was.
    pub started_at: Option<Timestamp>,
    pub details: CgroupDetails,
    /// Traffic: of a sandbox, whose network is the pod's, and of the node.
    pub network: Vec<InterfaceUsage>,
    /// File systems: of the node only.
    pub filesystems: Vec<FilesystemUsage>,
}

/// The labels of each figure; empty where they mean nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowLabels {
    /// The container's name in its pod; empty of a sandbox.
    pub container: String,
    /// The cgroup's path, from `/`.
    pub id: String,
    pub image: String,
    /// The runtime's id of the container or sandbox.
    pub name: String,
    pub namespace: String,
    pub pod: String,
}

impl RowLabels {
    /// Names and values, in the order of names.
    pub(super) fn pairs(&self) -> [(&'static str, &str); 6] {
        [
            ("container", &self.container),
            ("id", &self.id),
            ("image", &self.image),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("pod", &self.pod),
        ]
    }
}
