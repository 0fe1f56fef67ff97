//! `witlet get pods --usage`: what pods use now, as `kubectl top pods` shows it.

use serde_json::Value;
use witlet_core::pod::quantity;
use witlet_server::LocalClient;

use super::error::GetError;
use super::table;
use crate::cli::{GetArgs, OutputFormat};
use crate::output::{print, structured};

/// Prints the pods that have running containers.
pub(super) async fn run(args: &GetArgs) -> Result<(), GetError> {
    let mut list: Value = LocalClient::new(&args.api_socket).get("/usage").await?;
    let matches = |requested: &Option<String>, have: &Value| {
        requested.as_ref().is_none_or(|requested| have.as_str() == Some(requested))
    };
    if let Some(items) = list["items"].as_array_mut() {
        items.retain(|item| {
            let metadata = &item["metadata"];
            matches(&args.namespace, &metadata["namespace"]) && matches(&args.name, &metadata["name"])
        });
    }
    let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = match (args.output, &args.name, items) {
        (_, Some(name), []) => return Err(not_found(name, args.namespace.as_deref())),
        (OutputFormat::Json | OutputFormat::Yaml, Some(_), [only]) => {
            let mut only = only.clone();
            only["kind"] = "PodMetrics".into();
            only["apiVersion"] = list["apiVersion"].clone();
            structured(&only, args.output)?
        }
        (OutputFormat::Json | OutputFormat::Yaml, ..) => structured(&list, args.output)?,
        (OutputFormat::Table | OutputFormat::Wide, _, []) => "No pods found.\n".to_owned(),
        (OutputFormat::Table | OutputFormat::Wide, _, items) => {
            let rows: Vec<Vec<String>> = items.iter().map(row).collect();
            table::render(&["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"], &rows)
        }
    };
    Ok(print(&text)?)
}

/// Without a running container a pod uses nothing that could be shown.
fn not_found(name: &str, namespace: Option<&str>) -> GetError {
    let place = namespace.map(|namespace| format!(" in namespace {namespace:?}")).unwrap_or_default();
    GetError::NotFound { kind: "running pod", name: name.to_owned(), place }
}

/// The sums of the containers, rounded as kubectl does.
fn row(item: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let containers = item["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Usage { cpu_nanocores, memory_bytes } = Usage::sum(containers);
    vec![
        text(&item["metadata"]["namespace"]),
        text(&item["metadata"]["name"]),
        shown_cpu(cpu_nanocores),
        shown_memory(memory_bytes),
    ]
}

/// What is used; none is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu_nanocores: Option<i64>,
    pub(crate) memory_bytes: Option<i64>,
}

impl Usage {
    /// Reads the usage of a container in the metrics API.
    pub(crate) fn of(container: &Value) -> Self {
        let parsed = |resource: &str| quantity::parse(container["usage"][resource].as_str()?).ok();
        Self {
            cpu_nanocores: parsed("cpu").map(|amount| amount.nano()),
            memory_bytes: parsed("memory").map(|amount| amount.value()),
        }
    }

    /// Adds the usage of containers up; known if all of them are.
    pub(crate) fn sum(containers: &[Value]) -> Self {
        let sum = |amount: fn(Self) -> Option<i64>| {
            let mut amounts = containers.iter().map(|container| amount(Self::of(container)));
            amounts.try_fold(0, |sum: i64, one| Some(sum.saturating_add(one?)))
        };
        Self {
            cpu_nanocores: sum(|usage| usage.cpu_nanocores),
            memory_bytes: sum(|usage| usage.memory_bytes),
        }
    }
}

/// Up to thousandths of a core.
pub(crate) fn shown_cpu(nanocores: Option<i64>) -> String {
    let milli = nanocores.map(|nano| nano / 1_000_000 + i64::from(nano % 1_000_000 > 0));
    milli.map_or_else(|| "<unknown>".to_owned(), |milli| format!("{milli}m"))
}

/// Down to MiB.
pub(crate) fn shown_memory(bytes: Option<i64>) -> String {
    bytes.map_or_else(|| "<unknown>".to_owned(), |bytes| format!("{}Mi", bytes >> 20))
}

#[cfg(test)]
mod tests;
