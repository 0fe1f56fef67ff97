//! The container runtime in our own words: what is asked of it, and what it is seen to have.
//!
//! These types cross the runtime port. The CRI's types stay in the CRI crates.

mod config;
pub mod labels;
mod observed;

pub use config::{
    AppArmorProfile, ContainerConfig, ContainerSecurity, Device, DnsConfig, IdMapping, LinuxResources, Mount,
    MountPropagation, NamespaceMode, PortMapping, Protocol, SandboxConfig, SeccompProfile, SelinuxLabel,
    SupplementalGroupsPolicy, UserNamespace,
};
pub use observed::{
    CgroupDriver, CgroupParent, ContainerId, ContainerRunState, ContainerUser, ExecOutput, ImageAuth,
    ImageInfo, ListedContainer, ListedSandbox, ObservedContainer, ObservedPod, ObservedSandbox,
    RuntimeCondition, RuntimeEvent, RuntimeHandler, RuntimePod, RuntimeStatus, RuntimeVersion, SandboxId,
    SandboxState,
};
