//! What can be checked, and what is seen.

use serde_json::Value;

use crate::get::error::GetError;

/// What can be checked.
pub(super) trait Source {
    /// Checks once.
    async fn snapshot(&mut self) -> Result<Snapshot, GetError>;
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    /// Of what, and when.
    pub(super) title: String,
    pub(super) header: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    /// All of it, for programs.
    pub(super) document: Value,
}
