//! The last good answer of the URL, kept for the next start of the agent: its pods go on until the URL answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use witlet_ports::StateStore;

#[cfg(test)]
mod tests;

/// The name of the state.
pub const REMEMBERED_MANIFEST: &str = "http-manifest";

/// What stands before the manifest, in a line of its own: whose it is.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    version: u32,
    url: String,
    node_name: String,
}

/// The only version of the format so far.
const VERSION: u32 = 1;

/// Keeps the answer.
#[derive(Clone)]
pub(super) struct Remembered {
    state: Arc<dyn StateStore>,
    head: Head,
}

impl Remembered {
    /// Of this URL, for this node.
    pub(super) fn new(state: Arc<dyn StateStore>, url: &str, node_name: &str) -> Self {
        let head = Head { version: VERSION, url: url.to_owned(), node_name: node_name.to_owned() };
        Self { state, head }
    }

    /// The answer of an earlier life of the agent; none if there was none, or it is of another URL or node.
    pub(super) async fn load(&self) -> Option<Vec<u8>> {
        let page = match self.state.load(REMEMBERED_MANIFEST).await {
            Ok(page) => page?,
            Err(error) => {
                tracing::warn!(%error, "Failed to load saved pods of the URL");
                return None;
            }
        };
        let end = page.iter().position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(&page[..end]).ok()?;
        (head == self.head).then(|| page[end + 1..].to_vec())
    }

    pub(super) async fn save(&self, manifest: &[u8]) {
        let mut page = serde_json::to_vec(&self.head).unwrap_or_default();
        page.push(b'\n');
        page.extend_from_slice(manifest);
        if let Err(error) = self.state.save(REMEMBERED_MANIFEST, &page).await {
            tracing::warn!(%error, "Failed to save pods of the URL");
        }
    }
}
