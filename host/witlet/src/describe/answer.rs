//! Asking for what several descriptions have, and printing them.

use serde::Serialize;
use serde_json::Value;
use witlet_server::{ClientError, LocalClient};

use crate::cli::{DescribeFormat, OutputFormat};
use crate::output::{OutputError, print, structured};

/// Prints a description as text, or as a document.
pub(super) fn show<T: Serialize>(
    described: &T,
    output: DescribeFormat,
    text: impl FnOnce(&T) -> String,
) -> Result<(), OutputError> {
    print(&match output {
        DescribeFormat::Text => text(described),
        DescribeFormat::Json => structured(described, OutputFormat::Json)?,
        DescribeFormat::Yaml => structured(described, OutputFormat::Yaml)?,
    })
}

/// The events whose object is meant, the oldest first.
pub(super) async fn events_about(
    client: &LocalClient,
    is_meant: impl Fn(&Value) -> bool,
) -> Result<Vec<Value>, ClientError> {
    let answer: Value = client.get("/events").await?;
    let all = answer["items"].as_array().into_iter().flatten();
    Ok(all.filter(|event| is_meant(&event["involvedObject"])).cloned().collect())
}
