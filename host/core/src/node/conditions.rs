//! Conditions of the node: when memory, disk or process ids are short, and in which words (upstream: `nodestatus/setters.go`
//! and the eviction manager's thresholds).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use thiserror::Error;

use super::readings::{Left, NodeReadings};
use crate::pod::quantity;

#[cfg(test)]
mod tests;

/// A pressure is told this long after it was seen last, unless the operator says otherwise (upstream:
/// `evictionPressureTransitionPeriod`).
pub const PRESSURE_TRANSITION_PERIOD: Duration = Duration::from_secs(5 * 60);

/// A whole, in the unit of [`Threshold::Share`].
const WHOLE: u64 = 1_000_000;

/// Less than this is a shortage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// So much of it.
    Amount(u64),
    /// So many millionths of all there is.
    Share(u32),
}

impl Threshold {
    fn is_met(self, left: Left) -> bool {
        let least = match self {
            Self::Amount(amount) => u128::from(amount),
            Self::Share(millionths) => u128::from(left.capacity) * u128::from(millionths) / u128::from(WHOLE),
        };
        u128::from(left.available) < least
    }
}

/// A threshold that can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThresholdError {
    /// The signal isn't one of the node's.
    #[error("unknown eviction signal {0:?}")]
    Signal(String),
    /// The value is neither a quantity nor a percentage between 0 % and 100 %.
    #[error("eviction threshold {signal}: {value:?} is neither a quantity nor a percentage")]
    Value {
        /// Which signal.
        signal: String,
        /// Its value.
        value: String,
    },
}

/// What counts as a shortage, signal by signal; none never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// `memory.available`.
    pub memory: Option<Threshold>,
    /// `nodefs.available`.
    pub nodefs_bytes: Option<Threshold>,
    /// `nodefs.inodesFree`.
    pub nodefs_inodes: Option<Threshold>,
    /// `imagefs.available`.
    pub imagefs_bytes: Option<Threshold>,
    /// `imagefs.inodesFree`.
    pub imagefs_inodes: Option<Threshold>,
    /// `pid.available`.
    pub pids: Option<Threshold>,
}

impl Default for Thresholds {
    /// Upstream's hard thresholds on Linux: 100Mi of memory, 10 % and 5 % of the node's file system, 15 % and 5 % of the images'.
    fn default() -> Self {
        let percent = |part: u32| Some(Threshold::Share(part * 10_000));
        Self {
            memory: Some(Threshold::Amount(100 << 20)),
            nodefs_bytes: percent(10),
            nodefs_inodes: percent(5),
            imagefs_bytes: percent(15),
            imagefs_inodes: percent(5),
            pids: None,
        }
    }
}

impl Thresholds {
    /// None at all.
    pub const NONE: Self = Self {
        memory: None,
        nodefs_bytes: None,
        nodefs_inodes: None,
        imagefs_bytes: None,
        imagefs_inodes: None,
        pids: None,
    };

    /// As `evictionHard` has them; what it leaves out has no threshold, as upstream. Signals of cgroups and of a file system
    /// of containers' own (`allocatableMemory.available`, `containerfs.…`) are understood and lead to no condition here.
    pub fn parse(hard: &BTreeMap<String, String>) -> Result<Self, ThresholdError> {
        let mut all = Self::NONE;
        for (signal, value) in hard {
            let place = match signal.as_str() {
                "memory.available" => Some(&mut all.memory),
                "nodefs.available" => Some(&mut all.nodefs_bytes),
                "nodefs.inodesFree" => Some(&mut all.nodefs_inodes),
                "imagefs.available" => Some(&mut all.imagefs_bytes),
                "imagefs.inodesFree" => Some(&mut all.imagefs_inodes),
                "pid.available" => Some(&mut all.pids),
                "allocatableMemory.available" | "containerfs.available" | "containerfs.inodesFree" => None,
                _ => return Err(ThresholdError::Signal(signal.clone())),
            };
            let threshold = threshold(value)
                .ok_or_else(|| ThresholdError::Value { signal: signal.clone(), value: value.clone() })?;
            if let Some(place) = place {
                *place = threshold;
            }
        }
        Ok(all)
    }
}

/// The threshold that a text says; the inner none is one that is switched off (0 % and 100 %, as upstream).
fn threshold(value: &str) -> Option<Option<Threshold>> {
    if let Some(percent) = value.strip_suffix('%') {
        let percent: f64 = percent.trim().parse().ok()?;
        if !(0.0..=100.0).contains(&percent) {
            return None;
        }
        // Between 0 and a million, so that nothing is cut off.
        let millionths = (percent * 10_000.0).round() as u32;
        return Some((percent > 0.0 && percent < 100.0).then_some(Threshold::Share(millionths)));
    }
    let amount = quantity::parse(value).ok()?.value();
    Some(Some(Threshold::Amount(u64::try_from(amount).ok()?)))
}

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
    /// Memory.
    pub memory: Option<bool>,
    /// Disk.
    pub disk: Option<bool>,
    /// Process ids.
    pub pid: Option<bool>,
}

impl Pressures {
    fn of(self, pressure: Pressure) -> Option<bool> {
        match pressure {
            Pressure::Memory => self.memory,
            Pressure::Disk => self.disk,
            Pressure::Pid => self.pid,
        }
    }
}

/// Remembers when each pressure was seen last. A value: the time comes in from outside.
#[derive(Clone, Debug)]
pub struct PressureMemory {
    thresholds: Thresholds,
    transition: SignedDuration,
    met: [Option<Timestamp>; PRESSURES.len()],
}

impl PressureMemory {
    /// Nothing was seen yet.
    pub fn new(thresholds: Thresholds, transition: Duration) -> Self {
        let transition = SignedDuration::try_from(transition).unwrap_or(SignedDuration::MAX);
        Self { thresholds, transition, met: Default::default() }
    }

    /// What these readings mean: a pressure is there while a threshold is met and for the transition period after that
    /// (upstream: `nodeConditionsObservedSince`).
    pub fn observe(&mut self, readings: &NodeReadings, now: Timestamp) -> Pressures {
        let limits = self.thresholds;
        let memory = [(limits.memory, readings.memory)];
        let disk = [
            (limits.nodefs_bytes, readings.nodefs_bytes),
            (limits.nodefs_inodes, readings.nodefs_inodes),
            (limits.imagefs_bytes, readings.imagefs_bytes),
            (limits.imagefs_inodes, readings.imagefs_inodes),
        ];
        let pids = [(limits.pids, readings.pids)];
        Pressures {
            memory: self.judge(Pressure::Memory, &memory, now),
            disk: self.judge(Pressure::Disk, &disk, now),
            pid: self.judge(Pressure::Pid, &pids, now),
        }
    }

    fn judge(
        &mut self,
        pressure: Pressure,
        signals: &[(Option<Threshold>, Option<Left>)],
        now: Timestamp,
    ) -> Option<bool> {
        let place = PRESSURES.iter().position(|known| *known == pressure)?;
        let limited = || signals.iter().filter_map(|(limit, left)| limit.map(|limit| (limit, *left)));
        if limited().any(|(limit, left)| left.is_some_and(|left| limit.is_met(left))) {
            self.met[place] = Some(now);
            return Some(true);
        }
        // A moment that lies ahead is of before the clock was set back; it ends no later than a new one would.
        if self.met[place].is_some_and(|at| now.duration_since(at).abs() < self.transition) {
            return Some(true);
        }
        // Without a threshold there is nothing to be read.
        let is_known = limited().next().is_none() || limited().any(|(_, left)| left.is_some());
        is_known.then_some(false)
    }
}

/// Puts the conditions of the pressures among the others, and gives the reasons of the events that this makes (upstream:
/// `recordNodeStatusEvent`). What nothing is known of stays; where it was never told it isn't there.
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
    // The node controller writes `Unknown` where nobody reported for long.
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
    let told = NodeCondition {
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: since.or(Some(Time(now))),
        ..shown.clone()
    };
    match place {
        Some(place) => conditions[place] = told,
        None => conditions.push(told),
    }
}

/// A source whose pods can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSource {
    /// The source's name.
    pub source: String,
    /// Since when.
    pub since: Timestamp,
    /// The last error; empty if there was no answer at all.
    pub error: String,
}

/// The type of the condition that says that a source's pods can't be read. Upstream's node has none: it stays Ready without a word, and
/// so does this one stay Ready, for what runs goes on.
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

/// What the condition and the event say.
pub fn source_message(unread: &UnreadSource) -> String {
    let UnreadSource { source, since, error } = unread;
    let error = if error.is_empty() { "no answer" } else { error };
    format!("pods of source {source:?} can't be read since {since}: {error}")
}

/// Puts the condition of unreadable sources among the others: as the agent shows it, or as over where the API server still has it.
pub fn set_source(conditions: &mut Vec<NodeCondition>, shown: Option<&NodeCondition>, now: Timestamp) {
    if let Some(shown) = shown {
        return set_shown(conditions, shown, now);
    }
    let is_set = |known: &NodeCondition| known.type_ == SOURCE_UNREADABLE && known.status != "False";
    if conditions.iter().any(is_set) {
        let over = NodeCondition {
            type_: SOURCE_UNREADABLE.to_owned(),
            status: "False".to_owned(),
            reason: Some("SourcesReadable".to_owned()),
            message: Some("pods of all sources can be read".to_owned()),
            ..NodeCondition::default()
        };
        set_shown(conditions, &over, now);
    }
}

/// The Ready condition to be told: what the agent shows of itself. Until it has looked at the runtime for long enough
/// (`has_looked`), a node that was ready before the agent's start stays so: nobody is to be moved away for a restart of the
/// agent. Before the agent shows anything the node isn't ready.
pub fn ready_to_tell(
    shown: Option<&NodeCondition>,
    existing: Option<&Node>,
    has_looked: bool,
) -> Option<NodeCondition> {
    let is_well = shown.is_some_and(|shown| shown.status == "True");
    if !is_well && !has_looked && existing.is_some_and(is_ready) {
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
