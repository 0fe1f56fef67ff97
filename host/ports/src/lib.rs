//! The traits that the agent needs the world through, with their errors.
//!
//! Each trait is small, so that a fake is honest about all of it. Every implementation passes the contract
//! suite of its port; the fakes of `witlet-testkit` too.
#![forbid(unsafe_code)]

mod access;
mod admission;
mod cgroups;
mod checkpoints;
mod clock;
mod components;
mod credentials;
mod description;
mod diagnostics;
mod events;
mod files;
mod host;
mod images;
mod log_files;
mod metrics;
mod node;
mod node_system;
mod objects;
mod probes;
mod readings;
mod runtime;
mod source_health;
mod sources;
mod stats;
mod statuses;
mod streaming;
mod system_logs;
mod target;
pub mod trace;
mod view;
mod volumes;
pub mod whole_file;

pub use access::{AccessError, Identity, NodeAccess, NodeAction};
pub use admission::{Admission, AdmissionResult};
pub use cgroups::{CgroupDrivers, CgroupError, Cgroups};
pub use checkpoints::Checkpoints;
pub use clock::{Clock, Jitter, RandomBits};
pub use components::{
    Artifact, ArtifactError, ArtifactFetcher, ArtifactSignature, ArtifactSignatures, ComponentFetcher,
    ComponentReference, ComponentReferenceError, FetchError, Reports,
};
pub use credentials::{CredentialsError, ImageCredentials, PullRecords};
pub use description::{LastOutcome, LastProbe, PodDescription, ProbeReport};
pub use diagnostics::{LogVerbosity, VerbosityError};
pub use events::EventSink;
pub use files::{ContainerFiles, ContainerLogs, FilesError, PodFiles, RotateError, StateStore};
pub use host::HostFiles;
pub use images::{ContainerImage, FileSystems, ImageFilesystem, ImageFilesystems, ImageStore};
pub use log_files::LogFiles;
pub use metrics::{Counters, DEFAULT_BUCKETS, Gauge, Histogram, Histograms, MetricsSource};
pub use node::NodeWatch;
pub use node_system::NodeSystem;
pub use objects::{ClusterObjects, NoObjects, ObjectError, Token, TokenWish};
pub use probes::{HookError, HookRequests, ProbeCounts, ProbeError, ProbeTypes};
pub use readings::{Left, MemoryNotifier, MemoryNotifierError, NodeImage, NodeReader, NodeReadings};
pub use runtime::{
    CommandRunner, Containers, Images, PodView, Runtime, RuntimeError, RuntimeInfo, Sandboxes, UNKNOWN,
};
pub use source_health::{SourceHealth, SourceOutage};
pub use sources::{
    NotifyRetry, PodSource, PodSourceSet, PodStatusUpdate, SOURCE_EVENTS_MAX, SourceEvent, SourceNotifyError,
};
pub use stats::{
    ContainerCounts, ContainerStats, DetailedCgroup, KernelCounts, KernelDetails, KernelMeter, PodCounts,
    PodDetails, RunningPod, RuntimeStats, StorageMeter,
};
pub use statuses::{NoStatuses, PodReport, StatusSink};
pub use streaming::{StreamOptions, Streaming};
pub use system_logs::{JournalOutput, Links, SystemLog, SystemLogEntry, SystemLogs};
pub use target::{OCI_SCHEME, Target, TargetError, is_sha256};
pub use trace::{Span, SpanSink, Tracer};
pub use view::{
    ActivePods, AgentStats, AgentView, CgroupDurations, CgroupStats, EventPage, ImageRemovals, PodPage,
    ProbeTotals, RecordedEvent, ShownPod,
};
pub use volumes::{VolumeError, Volumes};
