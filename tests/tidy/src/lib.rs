//! The rules of the tree that no compiler checks: which crate may import which, how long files get, that modules
//! say what they are for, and that documents name things which exist. Other crates' tests read documents by it.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "a rule that doesn't hold fails a test by panicking")]

mod blocks;
mod tree;

pub use blocks::{Block, blocks, quoted};
pub use tree::{check, files, read, relative, root};

#[cfg(test)]
mod arrows;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod install;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod rings;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod words;
