//! The container runtime in our own words: what is asked of it, and what it is seen to have.
//!
//! These types cross the runtime port. The CRI's types stay in the CRI crates.

mod config;
pub mod labels;
mod observed;

pub use config::{
    ContainerConfig, ContainerSecurity, DnsConfig, LinuxResources, Mount, NamespaceMode, PortMapping,
    Protocol, SandboxConfig, SeccompProfile,
};
pub use observed::{
    ContainerId, ContainerRunState, ImageInfo, ListedContainer, ListedSandbox, ObservedContainer,
    ObservedPod, ObservedSandbox, RuntimeCondition, RuntimePod, RuntimeStatus, RuntimeVersion, SandboxId,
    SandboxState,
};
