//! Conditions of the node: when memory, disk or process ids are short, and in which words (upstream: `nodestatus/setters.go`).
//! Whether they are is the eviction manager's decision (`crate::eviction`).

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::NodeFacts;
use crate::text::shortened;

#[cfg(test)]
mod tests;

/// What can be short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    /// `MemoryPressure`.
    Memory,
    /// `DiskPressure`.
    Disk,
    /// `PIDPressure`.
    Pid,
}

/// In the order in which upstream sets them.
pub const PRESSURES: [Pressure; 3] = [Pressure::Memory, Pressure::Disk, Pressure::Pid];

/// One side of a condition, in upstream's words.
struct Words {
    reason: &'static str,
    message: &'static str,
    event: &'static str,
}

impl Pressure {
    /// The type of the condition.
    pub fn condition(self) -> &'static str {
        match self {
            Self::Memory => "MemoryPressure",
            Self::Disk => "DiskPressure",
            Self::Pid => "PIDPressure",
        }
    }

    fn words(self, short: bool) -> Words {
        let (reason, message, event) = match (self, short) {
            (Self::Memory, true) => (
                "KubeletHasInsufficientMemory",
                "kubelet has insufficient memory available",
                "NodeHasInsufficientMemory",
            ),
            (Self::Memory, false) => (
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
                "NodeHasSufficientMemory",
            ),
            (Self::Disk, true) => {
                ("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure")
            }
            (Self::Disk, false) => {
                ("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure")
            }
            (Self::Pid, true) => (
                "KubeletHasInsufficientPID",
                "kubelet has insufficient PID available",
                "NodeHasInsufficientPID",
            ),
            (Self::Pid, false) => {
                ("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID")
            }
        };
        Words { reason, message, event }
    }
}

/// What the readings say of each pressure; none is that they say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressures {
    pub memory: Option<bool>,
    pub disk: Option<bool>,
    pub pid: Option<bool>,
}

impl Pressures {
    /// Returns what is known of one.
    pub fn of(self, pressure: Pressure) -> Option<bool> {
        match pressure {
            Pressure::Memory => self.memory,
            Pressure::Disk => self.disk,
            Pressure::Pid => self.pid,
        }
    }
}

/// The pressures that a node's conditions say.
pub fn pressures_of(node: &Node) -> Pressures {
    let of = |pressure: Pressure| match of_type(node, pressure.condition())?.status.as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    };
    Pressures { memory: of(Pressure::Memory), disk: of(Pressure::Disk), pid: of(Pressure::Pid) }
}

/// Facts of the machine with the conditions of pressures that the agent decided on, for handlers.
pub fn with_pressures(facts: &Arc<NodeFacts>, agent: &Node) -> Arc<NodeFacts> {
    let is_pressure =
        |condition: &&NodeCondition| PRESSURES.iter().any(|pressure| pressure.condition() == condition.type_);
    let known = agent.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let known: Vec<NodeCondition> = known.filter(is_pressure).cloned().collect();
    if known.is_empty() {
        return facts.clone();
    }
    let mut with = NodeFacts::clone(facts);
    let conditions = with.node.status.get_or_insert_default().conditions.get_or_insert_default();
    conditions.retain(|condition| !is_pressure(&condition));
    conditions.extend(known);
    Arc::new(with)
}

/// Puts the conditions of the pressures among the others, and gives the reasons of the events that this makes (upstream:
/// `recordNodeStatusEvent`). What nothing is known of stays; where it was never reported it isn't there.
pub fn set_pressures(
    conditions: &mut Vec<NodeCondition>,
    pressures: Pressures,
    now: Timestamp,
) -> Vec<&'static str> {
    let set = |pressure| set_pressure(conditions, pressure, pressures.of(pressure), now);
    PRESSURES.into_iter().filter_map(set).collect()
}

fn set_pressure(
    conditions: &mut Vec<NodeCondition>,
    pressure: Pressure,
    short: Option<bool>,
    now: Timestamp,
) -> Option<&'static str> {
    let kind = pressure.condition();
    let place = match conditions.iter().position(|condition| condition.type_ == kind) {
        Some(place) => place,
        None => {
            conditions.push(NodeCondition {
                type_: kind.to_owned(),
                status: "Unknown".to_owned(),
                ..NodeCondition::default()
            });
            conditions.len() - 1
        }
    };
    let condition = &mut conditions[place];
    condition.last_heartbeat_time = Some(Time(now));
    // The node controller writes `Unknown` where no one reported for long.
    let short = short.or_else(|| (condition.status == "Unknown").then_some(false))?;
    let status = if short { "True" } else { "False" };
    if condition.status == status {
        return None;
    }
    let words = pressure.words(short);
    condition.status = status.to_owned();
    condition.reason = Some(words.reason.to_owned());
    condition.message = Some(words.message.to_owned());
    condition.last_transition_time = Some(Time(now));
    Some(words.event)
}

/// Puts a condition among the others: the time of its last change stays while its status does.
pub fn set_shown(conditions: &mut Vec<NodeCondition>, shown: &NodeCondition, now: Timestamp) {
    let place = conditions.iter().position(|condition| condition.type_ == shown.type_);
    let since = place
        .map(|place| &conditions[place])
        .filter(|known| known.status == shown.status)
        .and_then(|known| known.last_transition_time.clone());
    let reported = NodeCondition {
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: since.or(Some(Time(now))),
        ..shown.clone()
    };
    match place {
        Some(place) => conditions[place] = reported,
        None => conditions.push(reported),
    }
}

/// A source whose pods can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSource {
    pub source: String,
    pub since: Timestamp,
    /// The last error; empty if there was no answer at all.
    pub error: String,
}

/// The type of the condition that says that a source's pods can't be read. Upstream's node has none: it stays Ready without a word, and
/// so does this one stay Ready: running pods keep running.
pub const SOURCE_UNREADABLE: &str = "PodSourceUnreadable";

/// The condition of a node whose sources can't be read; none if all can be.
pub fn source_unreadable(unread: &[UnreadSource]) -> Option<NodeCondition> {
    let messages: Vec<String> = unread.iter().map(source_message).collect();
    (!messages.is_empty()).then(|| NodeCondition {
        type_: SOURCE_UNREADABLE.to_owned(),
        status: "True".to_owned(),
        reason: Some("SourceUnreadable".to_owned()),
        message: Some(messages.join("; ")),
        ..NodeCondition::default()
    })
}

/// Returns what the condition and the event say.
pub fn source_message(unread: &UnreadSource) -> String {
    let UnreadSource { source, since, error } = unread;
    let error = if error.is_empty() { "no answer" } else { error };
    format!("pods of source {source:?} have been unreadable since {since}: {error}")
}

/// Puts the condition of unreadable sources among the others: as the agent shows it, or as over where the API server still has it.
pub fn set_source(conditions: &mut Vec<NodeCondition>, shown: Option<&NodeCondition>, now: Timestamp) {
    let over = NodeCondition {
        type_: SOURCE_UNREADABLE.to_owned(),
        status: "False".to_owned(),
        reason: Some("SourcesReadable".to_owned()),
        message: Some("pods of all sources are readable".to_owned()),
        ..NodeCondition::default()
    };
    set_or_end(conditions, shown, &over, now);
}

/// Puts a condition that a node needn't have among the others: as the agent shows it, or as `over` where the agent shows none any more
/// and the API server still has it otherwise.
fn set_or_end(
    conditions: &mut Vec<NodeCondition>,
    shown: Option<&NodeCondition>,
    over: &NodeCondition,
    now: Timestamp,
) {
    let is_left = |known: &NodeCondition| {
        known.type_ == over.type_ && (known.status != over.status || known.message != over.message)
    };
    match shown {
        Some(shown) => set_shown(conditions, shown, now),
        None if conditions.iter().any(is_left) => set_shown(conditions, over, now),
        None => {}
    }
}

/// The type of the condition that says whether all plugins are loaded as the configuration has them. Upstream's node has none; the
/// node stays Ready without them, because the policy of each says what then happens to pods.
pub const PLUGINS_READY: &str = "PluginsReady";

/// Bytes of the message of [`PLUGINS_READY`]: an object in the API server has to hold it, and people to read it.
const PLUGINS_MESSAGE_BYTES_MAX: usize = 2048;

/// The condition of a node with configured plugins; `problems` says what isn't loaded as the configuration has it, a sentence for
/// each.
pub fn plugins_ready(problems: &[String]) -> NodeCondition {
    let message = shortened(problems.join("; "), PLUGINS_MESSAGE_BYTES_MAX);
    let (status, reason, message) = match problems {
        [] => ("True", "PluginsLoaded", "all configured plugins are loaded".to_owned()),
        _ => ("False", "PluginsNotLoaded", message),
    };
    NodeCondition {
        type_: PLUGINS_READY.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        ..NodeCondition::default()
    }
}

/// Puts the condition of the plugins among the others: as the agent shows it, or as true where no plugin is configured any more and
/// the API server still has it.
pub fn set_plugins(conditions: &mut Vec<NodeCondition>, shown: Option<&NodeCondition>, now: Timestamp) {
    let message = Some("no plugins are configured".to_owned());
    set_or_end(conditions, shown, &NodeCondition { message, ..plugins_ready(&[]) }, now);
}

/// The Ready condition to be reported: what the agent shows of itself. Until it has checked the runtime for long enough
/// (`has_read`), a node that was ready before the agent's start stays so: no one is to be moved away for a restart of the
/// agent. Before the agent shows anything the node isn't ready.
pub fn ready_to_tell(
    shown: Option<&NodeCondition>,
    existing: Option<&Node>,
    has_read: bool,
) -> Option<NodeCondition> {
    let is_well = shown.is_some_and(|shown| shown.status == "True");
    if !is_well && !has_read && existing.is_some_and(is_ready) {
        return None;
    }
    let unknown = || not_ready("container runtime status check may not have completed yet".to_owned());
    Some(shown.cloned().unwrap_or_else(unknown))
}

/// The Ready condition of a node that can't take pods, for this reason.
pub fn not_ready(message: String) -> NodeCondition {
    NodeCondition {
        type_: READY.to_owned(),
        status: "False".to_owned(),
        reason: Some("KubeletNotReady".to_owned()),
        message: Some(message),
        ..NodeCondition::default()
    }
}

/// The type of the condition that says whether the node takes pods.
pub const READY: &str = "Ready";

/// The Ready condition of a node.
pub fn ready(node: &Node) -> Option<&NodeCondition> {
    of_type(node, READY)
}

/// The condition of this type of a node.
pub fn of_type<'a>(node: &'a Node, kind: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether the node takes pods.
pub fn is_ready(node: &Node) -> bool {
    ready(node).is_some_and(|condition| condition.status == "True")
}
