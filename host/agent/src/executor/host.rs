//! The machine as configurations of pods draw from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use witlet_core::container::spec::Host;
use witlet_core::node::NodeFacts;
use witlet_core::node::observed::runtime_classes;
use witlet_core::runtime::RuntimeHandler;
use witlet_ports::{FilesError, HostFiles};

use crate::cgroups::{CgroupManager, CgroupSettings, CgroupState};
use crate::settings::HostSettings;

/// The machine at one moment.
pub(super) struct HostNow<'a> {
    settings: &'a HostSettings,
    node: Arc<NodeFacts>,
    runtime_classes: Arc<BTreeMap<String, String>>,
    runtime_handlers: Arc<[RuntimeHandler]>,
    resolv_conf: Option<String>,
    etc_hosts: String,
    cgroups: &'a CgroupSettings,
    state: CgroupState,
    pods_memory: i64,
}

impl<'a> HostNow<'a> {
    /// Checks the machine. `of_cluster` are the runtime classes of the cluster, which come before the node's own.
    pub(super) async fn read(
        settings: &'a HostSettings,
        node: Arc<NodeFacts>,
        runtime_handlers: Arc<[RuntimeHandler]>,
        of_cluster: Option<Arc<BTreeMap<String, String>>>,
        files: &dyn HostFiles,
        cgroups: &'a CgroupManager,
    ) -> Result<Self, FilesError> {
        let (resolv_conf, etc_hosts) = tokio::try_join!(files.resolv_conf(), files.etc_hosts())?;
        let runtime_classes = runtime_classes(&settings.runtime_classes, of_cluster);
        Ok(Self {
            settings,
            node,
            runtime_classes,
            runtime_handlers,
            resolv_conf,
            etc_hosts,
            cgroups: &cgroups.settings,
            state: cgroups.state(),
            pods_memory: cgroups.pods_memory(),
        })
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
            runtime_classes: &self.runtime_classes,
            runtime_handlers: &self.runtime_handlers,
            swap_controller: self.settings.swap_controller,
            cgroups: self.state.facts(),
            cpu_quota: self.cgroups.cpu_quota,
            swap_behavior: self.cgroups.swap,
            memory_qos: self.cgroups.memory_qos,
            pods_memory: self.pods_memory,
            single_process_oom_kill: self.cgroups.single_process_oom_kill,
        }
    }
}
