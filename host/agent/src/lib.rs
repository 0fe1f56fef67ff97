//! The node agent: takes pods from sources, has them judged, and makes the runtime run them.
//!
//! One loop decides, and waits for nothing but its own inputs: admission, the pods' work, the clean-up and every
//! write run as tasks next to it. What is decided is decided by `witlet_core`.
#![forbid(unsafe_code)]

mod admission_call;
mod admission_queue;
mod agent;
mod cache;
mod cgroups;
mod checkpoints;
mod container_logs;
mod event_log;
mod event_loop;
mod eviction;
mod executor;
mod feedback;
mod handlers_node;
mod health;
mod housekeeping;
mod image_gc;
mod inputs;
mod metrics;
mod pleg;
mod pod_status_store;
mod prober;
mod recheck_ends;
mod removals;
mod resource_table;
mod settings;
mod tasks;
mod work_queue;

pub use agent::{Agent, AgentError, AgentHandle, Ports};
pub use cgroups::{CgroupMode, CgroupSettings, CgroupStartError};
pub use checkpoints::IdsUnknown;
pub use event_log::EventLog;
pub use eviction::EvictionPorts;
pub use image_gc::{ImageGc, ImageGcError};
pub use prober::PROBES_AT_ONCE_MAX;
pub use settings::{
    ADMISSIONS_MAX, AgentSettings, EVENTS_MAX, HostSettings, INSPECTIONS_MAX, ImagePullLimits, LogLimits,
    PLEG_EVENTS_MAX, PROBE_RESULTS_MAX, RELIST_REQUESTS_MAX, REMOVALS_MAX, RUNTIME_EVENTS_MAX,
};

/// Checkpoints with names and forms of the kubelet's, which lie in its root folder: each takes over what the other left.
pub const KUBELET_STATE: [&str; 2] = [resource_table::ALLOCATED_PODS, resource_table::ACTUATED_PODS];
