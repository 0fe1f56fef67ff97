//! A plugin: its component, its roles, what went wrong last, and its events.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use witlet_server::LocalClient;

use super::answer::{events_about, show};
use super::sections::{events, string};
use super::text::{NONE, Text};
use crate::cli::DescribePluginArgs;
use crate::get::error::GetError;
use crate::get::table::render;
use crate::plugin::list::{bytes, seconds, state};

#[cfg(test)]
mod tests;

const ROLES: [&str; 11] =
    ["ROLE", "CONTRACT", "STATE", "CALLS", "ERRORS", "TIMEOUTS", "P50", "P99", "CPU", "MEMORY", "WARM/BUSY"];

/// All that is known of a plugin.
#[derive(Debug, Serialize)]
pub(crate) struct DescribedPlugin {
    /// As `witlet plugin list -o json` has it.
    pub(crate) plugin: Value,
    /// The oldest first.
    pub(crate) events: Vec<Value>,
}

/// Prints it.
pub(super) async fn run(args: &DescribePluginArgs, now: Timestamp) -> Result<(), GetError> {
    let described = describe(&LocalClient::new(&args.describe.api_socket), &args.name).await?;
    Ok(show(&described, args.describe.output, |described| text(described, now))?)
}

/// Returns what the agent knows of a plugin.
pub(crate) async fn describe(client: &LocalClient, name: &str) -> Result<DescribedPlugin, GetError> {
    let answer: Value = client.get("/plugins").await?;
    let mut all = answer["items"].as_array().into_iter().flatten();
    let Some(plugin) = all.find(|plugin| plugin["name"] == *name).cloned() else {
        return Err(GetError::NotFound { kind: "plugin", name: name.to_owned(), place: String::new() });
    };
    let is_about = |object: &Value| object["kind"] == "Plugin" && object["name"] == *name;
    Ok(DescribedPlugin { plugin, events: events_about(client, is_about).await? })
}

/// The description for people.
fn text(described: &DescribedPlugin, now: Timestamp) -> String {
    let DescribedPlugin { plugin, events: recorded } = described;
    let mut text = Text::default();
    let or_none = |value: &Value| if value.is_null() { NONE.to_owned() } else { string(value) };
    text.field(0, "Name", string(&plugin["name"]));
    text.field(0, "Component", string(&plugin["component"]));
    text.field(0, "Digest", or_none(&plugin["digest"]));
    text.some(0, "Size", plugin["sizeBytes"].as_u64().map(bytes));
    // What ships may be an entry's component, too: `builtin:cel`.
    let enabled_by = if plugin["builtin"] == true { "default" } else { "plugin file" };
    text.field(0, "Enabled By", enabled_by);
    text.field(0, "State", string(&plugin["state"]));
    text.some(0, "Detail", plugin["detail"].as_str());
    text.some(0, "Pending", plugin["pending"].as_str());
    let warnings = plugin["warnings"].as_array().filter(|warnings| !warnings.is_empty());
    if let Some(warnings) = warnings {
        text.list(0, "Warnings", warnings.iter().map(string));
    }
    text.some(0, "Last Error", plugin["lastError"].as_str());
    text.some(0, "Probe Type", plugin["probeType"].as_str());
    if !plugin["failurePolicy"].is_null() {
        text.field(0, "Order", string(&plugin["order"]));
        text.field(0, "Failure Policy", string(&plugin["failurePolicy"]));
        text.field(0, "System Pods", string(&plugin["systemPods"]));
        text.field(0, "Shadow", string(&plugin["shadow"]));
    }
    conformance(&mut text, &plugin["conformance"]);
    signature(&mut text, &plugin["signature"]);
    roles(&mut text, plugin);
    shadow(&mut text, &plugin["shadowReport"]);
    rollout(&mut text, &plugin["rollout"]);
    events(&mut text, recorded, now);
    text.render()
}

fn conformance(text: &mut Text, vouched: &Value) {
    if vouched.is_null() {
        return;
    }
    text.heading(0, "Conformance");
    for (key, field) in [
        ("Signed By", "signedBy"),
        ("Key", "key"),
        ("Kit Version", "kitVersion"),
        ("Examined", "examined"),
        ("Passed", "passed"),
    ] {
        text.field(1, key, string(&vouched[field]));
    }
}

fn signature(text: &mut Text, signed: &Value) {
    if signed.is_null() {
        return;
    }
    text.heading(0, "Signature");
    text.field(1, "Signed By", string(&signed["signedBy"]));
    text.field(1, "Key", string(&signed["key"]));
}

fn roles(text: &mut Text, plugin: &Value) {
    let row = |role: &Value| {
        let time = |field: &str| role[field].as_f64().map_or_else(|| "-".to_owned(), seconds);
        let version = string(&role["version"]);
        vec![
            string(&role["role"]),
            if version.is_empty() { "-".to_owned() } else { version },
            state(plugin, role),
            string(&role["calls"]),
            string(&role["errors"]),
            string(&role["timeouts"]),
            time("p50Seconds"),
            time("p99Seconds"),
            time("cpuSeconds"),
            role["memoryBytesPeak"].as_u64().filter(|bytes| *bytes > 0).map_or_else(|| "-".to_owned(), bytes),
            format!("{}/{}", role["warmInstances"], role["inFlight"]),
        ]
    };
    let rows: Vec<Vec<String>> = plugin["roles"].as_array().into_iter().flatten().map(row).collect();
    text.table("Roles", rows.len(), &render(&ROLES, &rows), NONE);
}

fn shadow(text: &mut Text, report: &Value) {
    if report.is_null() {
        return;
    }
    text.heading(0, "Shadow");
    for (key, field) in
        [("Agreed", "agreed"), ("Differed", "differed"), ("Failed", "failed"), ("Skipped", "skipped")]
    {
        text.field(1, key, string(&report[field]));
    }
}

fn rollout(text: &mut Text, rollout: &Value) {
    if rollout.is_null() {
        return;
    }
    text.heading(0, "Rollout");
    for (key, field) in [
        ("Of", "of"),
        ("Phase", "phase"),
        ("Percent", "percent"),
        ("Calls", "calls"),
        ("Errors", "errors"),
        ("Differences", "differences"),
    ] {
        text.field(1, key, string(&rollout[field]));
    }
    text.some(1, "Reason", rollout["reason"].as_str());
    text.some(1, "Message", rollout["message"].as_str());
}
