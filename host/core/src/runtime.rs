//! Types of the container runtime, independent of the CRI: requests (`spec`) and observed state (`observed`).
//!
//! These types cross the runtime port. The CRI's types stay in the CRI crates.

pub mod labels;
mod observed;
mod spec;

pub use observed::{
    CgroupDriver, CgroupParent, ContainerId, ContainerRunState, ContainerUser, ExecOutput, ImageAuth,
    ImageInfo, ListedContainer, ListedSandbox, ObservedContainer, ObservedPod, ObservedSandbox,
    RuntimeCondition, RuntimeEvent, RuntimeHandler, RuntimePod, RuntimeStatus, RuntimeVersion, SandboxId,
    SandboxState,
};
pub use spec::{
    AppArmorProfile, ContainerSecurity, ContainerSpec, Device, DnsConfig, IdMapping, LinuxResources, Mount,
    MountPropagation, NamespaceMode, PortMapping, Protocol, SandboxSpec, SeccompProfile, SelinuxLabel,
    SupplementalGroupsPolicy, UserNamespace,
};
