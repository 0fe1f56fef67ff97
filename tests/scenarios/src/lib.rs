//! The whole agent on recording fakes and paused time: the scenarios that every world plays, and what only fakes can
//! show. Expected logs are the runtime's orders: seconds since the beginning, action, object.
#![forbid(unsafe_code)]
#![cfg(test)]

mod admission;
mod api_pods;
mod cgroup_cuts;
mod cgroup_start;
mod cgroups;
mod configuration;
mod contracts;
mod custom_probes;
mod edits;
mod everywhere;
mod eviction;
mod eviction_cuts;
mod handlers_node;
mod hooks;
mod housekeeping;
mod image_admission;
mod image_gc;
mod images;
mod init;
mod lifecycle;
mod loop_health;
mod metrics;
mod preemption;
mod probes;
mod properties;
mod readmission;
mod readmit;
mod rechecks;
mod rejections;
mod reports;
mod resize;
mod restart_rules;
mod restarts;
mod sources;
mod spans;
mod status;
mod support;
mod termination;
mod volumes;
mod writes;
