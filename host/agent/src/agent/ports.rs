//! What an agent is made of that isn't the agent's own.

use std::sync::Arc;

use witlet_ports::{
    Admission, CgroupDrivers, Clock, ClusterObjects, ContainerFiles, ContainerLogs, FileSystems,
    HookRequests, HostFiles, ImageCredentials, Jitter, NodeWatch, PodFiles, PodSource, PodSourceSet,
    ProbeTypes, PullRecords, Runtime, StateStore, StatusSink, Tracer, Volumes,
};

use crate::event_log::EventLog;
use crate::eviction::EvictionPorts;
use crate::settings::HostSettings;

/// The ports of the agent.
pub struct Ports {
    pub runtime: Runtime,
    /// The machine's file systems.
    pub file_systems: Arc<dyn FileSystems>,
    pub admission: Arc<dyn Admission>,
    /// The folders of pods.
    pub files: Arc<dyn PodFiles>,
    /// Small files that survive a restart.
    pub state: Arc<dyn StateStore>,
    pub cgroups: CgroupDrivers,
    /// Where events go, and where the handle shows them from. Give it to the sources, too.
    pub events: Arc<EventLog>,
    pub clock: Arc<dyn Clock>,
    pub jitter: Arc<dyn Jitter>,
    pub node: Arc<dyn NodeWatch>,
    /// Where pods come from. Nothing is cleaned up before each of them has sent a set.
    pub sources: Vec<Box<dyn PodSource>>,
    /// Those of plugins, which come and go.
    pub plugin_sources: Option<Arc<dyn PodSourceSet>>,
    /// What configurations of pods draw from in addition to the pod and the node.
    pub host: HostSettings,
    /// Files of the machine that pods' own are made from.
    pub host_files: Arc<dyn HostFiles>,
    pub volumes: Arc<dyn Volumes>,
    /// What is written for containers and read of them.
    pub container_files: Arc<dyn ContainerFiles>,
    /// Logs of containers, to be kept small.
    pub container_logs: Arc<dyn ContainerLogs>,
    pub credentials: Arc<dyn ImageCredentials>,
    /// What is kept of pulls.
    pub pull_records: Arc<dyn PullRecords>,
    /// The types of probes.
    pub probe_types: Arc<dyn ProbeTypes>,
    /// Requests of lifecycle hooks.
    pub hooks: Arc<dyn HookRequests>,
    /// Receives the status of each pod.
    pub statuses: Arc<dyn StatusSink>,
    /// What pods draw from the cluster.
    pub objects: Arc<dyn ClusterObjects>,
    /// What evictions are decided on.
    pub eviction: EvictionPorts,
    /// Whose spans the work on pods is.
    pub tracer: Tracer,
}
