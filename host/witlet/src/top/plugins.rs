//! Plugins by what they do between two snapshots.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use witlet_ports::Clock;
use witlet_server::LocalClient;

use super::source::{Snapshot, Source};
use crate::cli::{PluginOrder, TopPluginsArgs};
use crate::get::error::GetError;
use crate::plugin::list::{bytes, seconds, state};

#[cfg(test)]
mod tests;

const HEADER: [&str; 11] =
    ["NAME", "ROLE", "STATE", "CALLS/S", "ERRORS/S", "ERRORS", "P50", "P99", "CPU", "MEMORY", "BUSY"];

/// Between the two snapshots of a first one.
const FIRST_WINDOW: Duration = Duration::from_secs(1);

pub(super) struct PluginSource<'a> {
    args: &'a TopPluginsArgs,
    clock: &'a dyn Clock,
    client: LocalClient,
    /// The snapshot before, and when it was.
    before: Option<(Value, Instant)>,
}

/// A plugin in one of its roles, in a window of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginRate {
    name: String,
    role: String,
    state: String,
    /// None if the plugin was loaded within the window, as of the next two.
    calls_per_second: Option<f64>,
    errors_per_second: Option<f64>,
    /// CPU time per second.
    cpu_cores: Option<f64>,
    /// Since the plugin was loaded, as all that follows.
    calls: u64,
    errors: u64,
    p50_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    memory_bytes_peak: u64,
    /// Calls that run now.
    in_flight: u64,
}

impl<'a> PluginSource<'a> {
    pub(super) fn new(args: &'a TopPluginsArgs, clock: &'a dyn Clock) -> Self {
        Self { args, clock, client: LocalClient::new(&args.top.api_socket), before: None }
    }

    async fn read(&self) -> Result<(Value, Instant), GetError> {
        let mut answer: Value = self.client.get("/plugins").await?;
        if let (Some(name), Some(items)) = (&self.args.name, answer["items"].as_array_mut()) {
            items.retain(|plugin| plugin["name"] == **name);
            if items.is_empty() {
                return Err(GetError::NotFound { kind: "plugin", name: name.clone(), place: String::new() });
            }
        }
        Ok((answer, Instant::now()))
    }
}

impl Source for PluginSource<'_> {
    async fn snapshot(&mut self) -> Result<Snapshot, GetError> {
        let before = match self.before.take() {
            Some(before) => before,
            None => {
                let first = self.read().await?;
                sleep(FIRST_WINDOW.min(self.args.top.interval)).await;
                first
            }
        };
        let after = self.read().await?;
        let window = after.1.saturating_duration_since(before.1);
        let mut all = rates(&before.0, &after.0, window);
        sort(&mut all, self.args.sort_by);
        let (now, interval) = (self.clock.now().strftime("%H:%M:%S"), self.args.top.interval);
        let title = format!("{} plugins in their roles, {now} UTC, every {interval:?}; q quits", all.len());
        let rows = all.iter().map(row).collect();
        let document = document(window, &all);
        self.before = Some(after);
        Ok(Snapshot { title, header: HEADER.to_vec(), rows, document })
    }
}

pub(super) fn document(window: Duration, all: &[PluginRate]) -> Value {
    json!({"windowSeconds": window.as_secs_f64(), "items": all})
}

/// Returns what happened between two checks.
fn rates(before: &Value, after: &Value, window: Duration) -> Vec<PluginRate> {
    let known: BTreeMap<(&str, &str, &str), &Value> =
        roles(before).map(|(key, _, role)| (key, role)).collect();
    let of = |(key, plugin, role): ((&str, &str, &str), &Value, &Value)| {
        let old = known.get(&key);
        let rate = |field: &str| {
            let (old, new) = (old?[field].as_f64()?, role[field].as_f64()?);
            (new >= old && !window.is_zero()).then(|| (new - old) / window.as_secs_f64())
        };
        let count = |field: &str| role[field].as_u64().unwrap_or_default();
        PluginRate {
            name: key.0.to_owned(),
            role: key.2.to_owned(),
            state: state(plugin, role),
            calls_per_second: rate("calls"),
            errors_per_second: rate("errors"),
            cpu_cores: rate("cpuSeconds"),
            calls: count("calls"),
            errors: count("errors"),
            p50_seconds: role["p50Seconds"].as_f64(),
            p99_seconds: role["p99Seconds"].as_f64(),
            memory_bytes_peak: count("memoryBytesPeak"),
            in_flight: count("inFlight"),
        }
    };
    roles(after).map(of).collect()
}

/// The roles of all plugins with what identifies them: name, component and role. Another component counts from the beginning.
fn roles(answer: &Value) -> impl Iterator<Item = ((&str, &str, &str), &Value, &Value)> {
    let plugins = answer["items"].as_array().into_iter().flatten();
    plugins.flat_map(|plugin| {
        let name = plugin["name"].as_str().unwrap_or_default();
        let digest = plugin["digest"].as_str().unwrap_or_default();
        let roles = plugin["roles"].as_array().into_iter().flatten();
        roles.map(move |role| ((name, digest, role["role"].as_str().unwrap_or_default()), plugin, role))
    })
}

/// The largest first; those of which nothing is known last.
fn sort(all: &mut [PluginRate], order: PluginOrder) {
    let amount = |rate: &PluginRate| match order {
        PluginOrder::Cpu => rate.cpu_cores,
        PluginOrder::Calls => rate.calls_per_second,
        PluginOrder::P99 => rate.p99_seconds,
        PluginOrder::Memory => Some(rate.memory_bytes_peak as f64),
        PluginOrder::Errors => Some(rate.errors as f64),
        PluginOrder::Name => None,
    };
    let name = |rate: &PluginRate| (rate.name.clone(), rate.role.clone());
    all.sort_by(|left, right| {
        let (a, b) = (amount(left).unwrap_or(-1.0), amount(right).unwrap_or(-1.0));
        b.total_cmp(&a).then_with(|| name(left).cmp(&name(right)))
    });
}

fn row(rate: &PluginRate) -> Vec<String> {
    let none = || "-".to_owned();
    let per_second = |rate: Option<f64>| rate.map_or_else(none, |rate| format!("{rate:.1}"));
    let time = |value: Option<f64>| value.map_or_else(none, seconds);
    let memory = Some(rate.memory_bytes_peak).filter(|bytes| *bytes > 0);
    vec![
        rate.name.clone(),
        rate.role.clone(),
        rate.state.clone(),
        per_second(rate.calls_per_second),
        per_second(rate.errors_per_second),
        rate.errors.to_string(),
        time(rate.p50_seconds),
        time(rate.p99_seconds),
        rate.cpu_cores.map_or_else(none, |cores| format!("{:.1}m", cores * 1000.0)),
        memory.map_or_else(none, bytes),
        rate.in_flight.to_string(),
    ]
}
