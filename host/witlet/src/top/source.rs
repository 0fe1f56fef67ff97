//! What can be looked at, and what is seen.

use serde_json::Value;

use crate::get::error::GetError;

/// What can be looked at.
pub(super) trait Source {
    /// Looks once.
    async fn look(&mut self) -> Result<Look, GetError>;
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// Of what, and when.
    pub(super) title: String,
    /// The columns.
    pub(super) header: Vec<&'static str>,
    /// Their cells.
    pub(super) rows: Vec<Vec<String>>,
    /// All of it, for programs.
    pub(super) document: Value,
}
