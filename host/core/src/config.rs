//! Where pods come from: manifests read into pods, and the sets of each source merged into changes.

pub mod manifest;
pub mod merge;
mod supported;

pub use merge::{Duplicate, MergedConfig, PodOperation, PodUpdate, SourceChange};
