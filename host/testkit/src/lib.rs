//! What tests of the agent are made of: a recording fake of every port, pods by builder, a whole node on paused time,
//! and the scenarios that every kind of node has to pass.
#![forbid(unsafe_code)]

mod admission;
mod builders;
mod cgroups;
mod eviction;
mod files;
mod node;
mod node_system;
mod probes;
mod pull_records;
mod runtime;
pub mod scenarios;
mod sources;
mod spans;
mod time;
mod volumes;

pub use admission::{FakeAdmission, NOT_BEFORE_SECONDS, REJECTED_BY};
pub use builders::{ContainerBuilder, PodBuilder, container, pod};
pub use cgroups::{CgroupCut, FakeCgroups};
pub use eviction::{FakePodFigures, FakeUsage};
pub use files::{FixedHostFiles, MemoryPodFiles, MemoryStateStore};
pub use node::{ClusterEdge, ConnectCluster, FakeNode, NODE_NAME, fixed_node};
pub use node_system::FakeNodeSystem;
pub use probes::{Endpoint, FakeEndpoints, FixedCredentials};
pub use pull_records::MemoryPullRecords;
pub use runtime::{Behaviour, ExecScript, FakeImage, FakeRuntime, OtherContainer, Start};
pub use sources::{FakeSource, FakeSourceSet, SourceHandle};
pub use spans::RecordedSpans;
pub use time::{FixedJitter, ManualClock};
pub use volumes::MemoryMachine;
