//! The machine as configurations of pods draw from it.

use std::sync::Arc;

use witlet_core::container::config::Host;
use witlet_core::node::NodeFacts;
use witlet_ports::{FilesError, HostFiles};

use crate::config::HostSettings;

/// The machine at one moment.
#[derive(Debug)]
pub(super) struct HostNow<'a> {
    settings: &'a HostSettings,
    node: Arc<NodeFacts>,
    resolv_conf: Option<String>,
    etc_hosts: String,
}

impl<'a> HostNow<'a> {
    /// Looks at the machine.
    pub(super) async fn read(
        settings: &'a HostSettings,
        node: Arc<NodeFacts>,
        files: &dyn HostFiles,
    ) -> Result<Self, FilesError> {
        let (resolv_conf, etc_hosts) = tokio::try_join!(files.resolv_conf(), files.etc_hosts())?;
        Ok(Self { settings, node, resolv_conf, etc_hosts })
    }

    /// The same as decisions take it.
    pub(super) fn facts(&self) -> Host<'_> {
        Host {
            node: &self.node,
            seccomp_root: &self.settings.seccomp_root,
            seccomp_default: self.settings.seccomp_default,
            resolv_conf: self.resolv_conf.as_deref(),
            cluster_dns: &self.settings.cluster_dns,
            cluster_domain: &self.settings.cluster_domain,
            etc_hosts: &self.etc_hosts,
            runtime_classes: &self.settings.runtime_classes,
            swap_controller: self.settings.swap_controller,
        }
    }
}
