//! Images: their names, when they are pulled, with which credentials, who may use what was pulled, and which are removed.

pub mod docker_config;
pub mod gc;
pub mod keyring;
pub mod policy;
pub mod records;
pub mod reference;
pub mod resolved;
mod size;

pub use docker_config::{DockerConfig, DockerConfigError};
pub use keyring::Keyring;
pub use policy::{ImageRefusal, ImageStep, Presence, PullFailureKind, PullPolicy};
pub use reference::{ImageReference, ReferenceError, with_default_tag};
pub use resolved::{CredentialOrigin, ResolvedImage};
pub use size::size_class;
