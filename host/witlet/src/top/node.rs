//! The node's resources: what there is, what pods request, and what is used.

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use witlet_core::pod::quantity;
use witlet_ports::Clock;
use witlet_server::LocalClient;

use super::source::{Snapshot, Source};
use crate::cli::TopArgs;
use crate::get::error::GetError;
use crate::get::node::amount;

#[cfg(test)]
mod tests;

const HEADER: [&str; 7] = ["RESOURCE", "CAPACITY", "ALLOCATABLE", "REQUESTED", "REQUESTED%", "USED", "USED%"];

pub(super) struct NodeSource<'a> {
    args: &'a TopArgs,
    clock: &'a dyn Clock,
    client: LocalClient,
}

impl<'a> NodeSource<'a> {
    pub(super) fn new(args: &'a TopArgs, clock: &'a dyn Clock) -> Self {
        Self { args, clock, client: LocalClient::new(&args.api_socket) }
    }
}

impl Source for NodeSource<'_> {
    async fn snapshot(&mut self) -> Result<Snapshot, GetError> {
        let node: Node = self.client.get("/node").await?;
        let resources: Value = self.client.get("/node/resources").await?;
        let items = resources["items"].as_array().cloned().unwrap_or_default();
        let name = node.metadata.name.unwrap_or_default();
        let (now, interval) = (self.clock.now().strftime("%H:%M:%S"), self.args.interval);
        let title = format!("Node {name}, {now} UTC, every {interval:?}; q quits");
        let rows = items.iter().map(row).collect();
        Ok(Snapshot { title, header: HEADER.to_vec(), rows, document: document(&name, &items) })
    }
}

/// The node by its name, and its resources as the agent tells them.
pub(super) fn document(name: &str, items: &[Value]) -> Value {
    json!({"name": name, "items": items})
}

/// Returns what is requested and used, also in percent: of what is for pods, and of what there is.
fn row(item: &Value) -> Vec<String> {
    let name = item["resource"].as_str().unwrap_or_default();
    let shown = |key: &str| item[key].as_str().map(|text| amount(name, text)).unwrap_or_default();
    let milli = |key: &str| quantity::parse(item[key].as_str()?).ok().map(|amount| amount.milli());
    let percent = |part: &str, whole: &str| {
        let (part, whole) = (milli(part)?, milli(whole).filter(|whole| *whole > 0)?);
        Some(format!("{}%", i128::from(part) * 100 / i128::from(whole)))
    };
    vec![
        name.to_owned(),
        shown("capacity"),
        shown("allocatable"),
        shown("requested"),
        percent("requested", "allocatable").unwrap_or_default(),
        shown("used"),
        percent("used", "capacity").unwrap_or_default(),
    ]
}
