//! Where pods come from: manifests read into pods, what a source may bring, and the sets of each source merged into changes.

pub mod allow;
mod claims;
pub mod compare;
pub mod manifest;
pub mod merge;
pub mod plugin;
pub mod pod_security;
pub mod polling;
mod supported;

pub use merge::{Duplicate, MergedPods, PodOperation, PodUpdate, SourceChange, SourceUpdate, is_other_wish};
