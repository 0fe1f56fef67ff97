//! Where pods come from: manifests read into pods, and the sets of each source merged into changes.

pub mod manifest;
pub mod merge;
mod pod_store;
mod supported;

pub use merge::{Duplicate, MergedConfig, PodOperation, PodUpdate, SourceChange};
pub use pod_store::PodStore;
