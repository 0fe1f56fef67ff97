//! Pods, or their containers, by what they use.

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::List;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_ports::Clock;
use witlet_server::LocalClient;

use super::source::{Snapshot, Source};
use crate::cli::{PodOrder, TopPodsArgs};
use crate::get::error::GetError;
use crate::get::usage::{Usage, shown_cpu, shown_memory};
use crate::names;

#[cfg(test)]
mod tests;

/// kubectl's, where a name is given and no namespace.
const NAMESPACE_DEFAULT: &str = "default";

pub(super) struct PodSource<'a> {
    args: &'a TopPodsArgs,
    clock: &'a dyn Clock,
    client: LocalClient,
}

impl<'a> PodSource<'a> {
    pub(super) fn new(args: &'a TopPodsArgs, clock: &'a dyn Clock) -> Self {
        Self { args, clock, client: LocalClient::new(&args.top.api_socket) }
    }

    /// The namespace and the full name of the pod that was asked for, if one was.
    async fn named(&self) -> Result<Option<(String, String)>, GetError> {
        let Some(name) = &self.args.name else { return Ok(None) };
        let list: List<Pod> = self.client.get("/pods").await?;
        let pods: Vec<Arc<Pod>> = list.items.into_iter().map(Arc::new).collect();
        let namespace = self.args.namespace.as_deref().unwrap_or(NAMESPACE_DEFAULT);
        let pod = names::pod(&pods, namespace, name)?;
        Ok(Some((namespace.to_owned(), names::name_of(pod).to_owned())))
    }
}

impl Source for PodSource<'_> {
    async fn snapshot(&mut self) -> Result<Snapshot, GetError> {
        let named = self.named().await?;
        let list: Value = self.client.get("/usage").await?;
        let requested = |item: &Value| {
            let metadata = &item["metadata"];
            match &named {
                Some((namespace, name)) => metadata["namespace"] == **namespace && metadata["name"] == **name,
                None => {
                    self.args.namespace.as_ref().is_none_or(|namespace| metadata["namespace"] == **namespace)
                }
            }
        };
        let mut items: Vec<Value> = list["items"].as_array().cloned().unwrap_or_default();
        items.retain(requested);
        sort(&mut items, self.args.sort_by);
        let order = match self.args.sort_by {
            PodOrder::Cpu => "cpu",
            PodOrder::Memory => "memory",
            PodOrder::Name => "name",
        };
        let (now, interval) = (self.clock.now().strftime("%H:%M:%S"), self.args.top.interval);
        let title =
            format!("{} running pods by {order}, {now} UTC, every {interval:?}; q quits", items.len());
        let (header, rows) = table(&items, self.args.containers);
        Ok(Snapshot { title, header, rows, document: document(&list, items) })
    }
}

/// The list with the pods that are requested, in their order.
pub(super) fn document(list: &Value, items: Vec<Value>) -> Value {
    json!({
        "kind": list["kind"], "apiVersion": list["apiVersion"], "metadata": list["metadata"], "items": items,
    })
}

fn containers(item: &Value) -> &[Value] {
    item["containers"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn name(item: &Value) -> (String, String) {
    let text = |key: &str| item["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// The largest first; those of which nothing is known last.
fn sort(items: &mut [Value], order: PodOrder) {
    items.sort_by_cached_key(|item| {
        let usage = Usage::sum(containers(item));
        let amount = match order {
            PodOrder::Cpu => usage.cpu_nanocores,
            PodOrder::Memory => usage.memory_bytes,
            PodOrder::Name => None,
        };
        (Reverse(amount), name(item))
    });
}

fn table(items: &[Value], by_container: bool) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut header = vec!["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"];
    if by_container {
        header.insert(2, "CONTAINER");
    }
    let rows = items.iter().flat_map(|item| {
        let (namespace, name) = name(item);
        let row = |container: Option<&str>, usage: Usage| {
            let mut row = vec![namespace.clone(), name.clone()];
            row.extend(container.map(str::to_owned));
            row.extend([shown_cpu(usage.cpu_nanocores), shown_memory(usage.memory_bytes)]);
            row
        };
        if !by_container {
            return vec![row(None, Usage::sum(containers(item)))];
        }
        let of_container = |container: &Value| row(container["name"].as_str(), Usage::of(container));
        containers(item).iter().map(of_container).collect()
    });
    (header, rows.collect())
}
