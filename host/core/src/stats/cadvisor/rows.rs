//! The cgroups that are shown.

use super::details::CgroupDetails;
use super::disks::FilesystemUsage;
use jiff::Timestamp;

use crate::stats::exposition::escape;
use crate::stats::network::InterfaceUsage;

/// A cgroup with all that is shown of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whose it is.
    pub labels: RowLabels,
    /// When it was made, or its container was.
    pub started_at: Option<Timestamp>,
    /// What it uses.
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
    /// The container's image.
    pub image: String,
    /// The runtime's id of the container or sandbox.
    pub name: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
}

impl RowLabels {
    /// As the figures have them, without braces.
    pub(super) fn text(&self) -> String {
        let labels = [
            ("container", &self.container),
            ("id", &self.id),
            ("image", &self.image),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("pod", &self.pod),
        ];
        let mut text = String::new();
        for (name, value) in labels {
            push_label(&mut text, name, value);
        }
        text
    }
}

/// Adds `name="value"`, after a comma where something is there already.
pub(super) fn push_label(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() && !text.ends_with('{') {
        text.push(',');
    }
    text.push_str(name);
    text.push_str("=\"");
    escape(text, value, true);
    text.push('"');
}
