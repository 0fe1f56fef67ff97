//! `witlet plugin list`, and `witlet get plugins`, which is the same.

use serde_json::Value;
use witlet_server::LocalClient;

use crate::cli::{OutputFormat, PluginListArgs};
use crate::get::error::GetError;
use crate::get::table;
use crate::output::{print, structured};

const HEADER: [&str; 10] =
    ["NAME", "ROLE", "VERSION", "STATE", "DIGEST", "CALLS", "ERRORS", "P50", "P99", "MEMORY"];
const WIDE_HEADER: [&str; 7] = ["CPU", "BUSY", "WARM", "SHADOW", "ROLLOUT", "OPERATIONS", "COMPONENT"];
const MESSAGE_HEADER: &str = "MESSAGE";
/// How much of a digest is shown in a table.
const DIGEST_CHARS: usize = 12;

/// Prints the daemon's plugins.
pub(crate) async fn run(args: &PluginListArgs) -> Result<(), GetError> {
    let mut answer: Value = LocalClient::new(&args.api_socket).get("/plugins").await?;
    if let (Some(name), Some(items)) = (&args.name, answer["items"].as_array_mut()) {
        items.retain(|plugin| plugin["name"].as_str() == Some(name));
        if items.is_empty() {
            return Err(GetError::NotFound { kind: "plugin", name: name.clone(), place: String::new() });
        }
    }
    let wide = args.output == OutputFormat::Wide;
    let mut text = match (args.output, answer["items"].as_array()) {
        (OutputFormat::Json | OutputFormat::Yaml, _) => structured(&answer, args.output)?,
        (OutputFormat::Table | OutputFormat::Wide, Some(items)) if !items.is_empty() => table::render(
            &header(wide),
            &items.iter().flat_map(|plugin| rows(plugin, wide)).collect::<Vec<_>>(),
        ),
        (OutputFormat::Table | OutputFormat::Wide, _) => "No plugins found.\n".to_owned(),
    };
    if matches!(args.output, OutputFormat::Table | OutputFormat::Wide) {
        text.push_str(&set(&answer["set"]));
    }
    Ok(print(&text)?)
}

/// The set that the plugins are of, below their table; nothing where sets aren't checked.
fn set(set: &Value) -> String {
    if set.is_null() {
        return String::new();
    }
    let running = set["running"].as_str().unwrap_or("none, the local plugin file");
    let lines = [("State", "state"), ("Last attempt", "lastAttempt"), ("Message", "message")];
    let lines = lines.map(|(name, key)| set[key].as_str().map(|text| format!("{name}: {text}\n")));
    let lines = lines.into_iter().flatten().collect::<String>();
    format!("\nSet: {running}\n{lines}{}", compiled_code(&set["compiledCode"]))
}

/// Returns what became of the compiled code of the set that runs; nothing where it has none.
fn compiled_code(code: &Value) -> String {
    let (Some(used), Some(unused)) = (code["used"].as_u64(), code["unused"].as_u64()) else {
        return String::new();
    };
    let architectures: Vec<&str> =
        code["architectures"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let reason = code["message"].as_str().map(|message| format!(": {message}")).unwrap_or_default();
    let all = used.saturating_add(unused);
    format!("Compiled code: for {}; {used} of {all} used{reason}\n", architectures.join(", "))
}

fn header(wide: bool) -> Vec<&'static str> {
    let more = WIDE_HEADER.iter().filter(|_| wide);
    HEADER.iter().chain(more).chain([&MESSAGE_HEADER]).copied().collect()
}

/// A row for each role of a plugin.
fn rows(plugin: &Value, wide: bool) -> Vec<Vec<String>> {
    let roles = plugin["roles"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Why it isn't ready comes first, then a change that waits, then why it was reverted, then data that are old, then what went
    // wrong last.
    let stale = plugin["data"].as_array().into_iter().flatten().map(|data| text(&data["problem"]));
    let [detail, pending, error] = ["detail", "pending", "lastError"].map(|key| text(&plugin[key]));
    let messages = [detail, pending, reverted(plugin)].into_iter().chain(stale).chain([error]);
    let message = messages.into_iter().find(|text| !text.is_empty());
    let mut message = message.unwrap_or_default();
    roles
        .iter()
        .map(|role| {
            let mut row = row(plugin, role);
            if wide {
                row.extend(wide_row(plugin, role));
            }
            // Once is enough for all roles.
            row.push(std::mem::take(&mut message));
            row
        })
        .collect()
}

fn row(plugin: &Value, role: &Value) -> Vec<String> {
    let none = || "-".to_owned();
    let digest: String = text(&plugin["digest"]).chars().take(DIGEST_CHARS).collect();
    let quantile = |key: &str| role[key].as_f64().map_or_else(none, seconds);
    let memory = role["memoryBytesPeak"].as_u64().filter(|bytes| *bytes > 0);
    let version = text(&role["version"]);
    vec![
        text(&plugin["name"]),
        text(&role["role"]),
        if version.is_empty() { none() } else { version },
        state(plugin, role),
        if digest.is_empty() { none() } else { digest },
        text(&role["calls"]),
        text(&role["errors"]),
        quantile("p50Seconds"),
        quantile("p99Seconds"),
        memory.map_or_else(none, bytes),
    ]
}

fn wide_row(plugin: &Value, role: &Value) -> Vec<String> {
    let report = &plugin["shadowReport"];
    let shadow = match (report["agreed"].as_u64(), report["differed"].as_u64()) {
        (Some(agreed), Some(differed)) => format!("{agreed} agreed, {differed} differed"),
        (None | Some(_), _) => "-".to_owned(),
    };
    vec![
        role["cpuSeconds"].as_f64().map_or_else(|| "-".to_owned(), seconds),
        text(&role["inFlight"]),
        text(&role["warmInstances"]),
        shadow,
        rollout(plugin),
        operations_of(plugin, role),
        text(&plugin["component"]),
    ]
}

/// Returns what a handler is asked about.
fn operations_of(plugin: &Value, role: &Value) -> String {
    let operations = plugin["operations"].as_array().into_iter().flatten();
    let operations: Vec<&str> = operations.filter_map(Value::as_str).collect();
    if operations.is_empty() || role["role"] != "admission" { "-".to_owned() } else { operations.join(",") }
}

/// Why another plugin judges all pods again; nothing if none does.
fn reverted(plugin: &Value) -> String {
    let [message, of] = ["message", "of"].map(|key| text(&plugin["rollout"][key]));
    if message.is_empty() { message } else { format!("reverted to {of}: {message}") }
}

/// How far it is with taking another's place.
pub(crate) fn rollout(plugin: &Value) -> String {
    let rollout = &plugin["rollout"];
    if rollout.is_null() {
        return "-".to_owned();
    }
    let [of, phase, percent, calls, min_calls, errors] =
        ["of", "phase", "percent", "calls", "minCalls", "errors"].map(|key| text(&rollout[key]));
    let step = match (phase.as_str(), rollout["soakSeconds"].as_f64(), rollout["soakedSeconds"].as_f64()) {
        ("Progressing", Some(soak), Some(soaked)) => {
            let [soaked, soak] = [soaked.min(soak), soak].map(rounded);
            format!(", {soaked} of {soak}, {calls} of {min_calls} calls, {errors} errors")
        }
        ("Progressing", ..) => format!(", {calls} calls, {errors} errors"),
        (other, ..) => format!(", {other}"),
    };
    format!("{percent}% of {of}{step}")
}

/// Formats whole seconds, minutes and hours.
fn rounded(seconds: f64) -> String {
    let seconds = seconds as u64;
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let shown: String =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    if shown.is_empty() { "0s".to_owned() } else { shown }
}

/// A quarantine is a role's own: the others are ready. A shadow is ready, and doesn't count; what is rolled out counts for a share
/// of the pods, and what was reverted for none.
pub(crate) fn state(plugin: &Value, role: &Value) -> String {
    let state = match text(&plugin["state"]).as_str() {
        "Quarantined" if role["quarantineSeconds"].is_null() => "Ready".to_owned(),
        state => state.to_owned(),
    };
    if role["role"].as_str() != Some("admission") {
        return state;
    }
    match text(&plugin["rollout"]["phase"]).as_str() {
        "Progressing" => format!("{state},{}%", plugin["rollout"]["percent"]),
        "Reverted" => format!("{state},Reverted"),
        _ if plugin["shadow"].as_bool() == Some(true) => format!("{state},Shadow"),
        _ => state,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

/// Formats two digits or so, in the unit that fits.
pub(crate) fn seconds(seconds: f64) -> String {
    let micros = seconds * 1e6;
    match micros {
        ..=0.0 => "0s".to_owned(),
        ..100.0 => format!("{micros:.1}µs"),
        ..1_000.0 => format!("{micros:.0}µs"),
        ..100_000.0 => format!("{:.1}ms", micros / 1e3),
        ..1_000_000.0 => format!("{:.0}ms", micros / 1e3),
        _ => format!("{seconds:.1}s"),
    }
}

/// The fields of a line of a plugin's log, each behind a blank.
pub(crate) fn fields(fields: &[(String, String)]) -> String {
    fields.iter().map(|(name, value)| format!(" {name}={value}")).collect()
}

/// Returns the text as quantities have it, one digit after the point.
pub(crate) fn bytes(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        ..MIB => format!("{}Ki", bytes.div_ceil(KIB)),
        _ => format!("{:.1}Mi", bytes as f64 / MIB as f64),
    }
}

#[cfg(test)]
mod tests;
