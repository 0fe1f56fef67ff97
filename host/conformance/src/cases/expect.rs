//! What must come of a case.

use serde_json::Value;

/// What a text must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// Exactly this.
    pub exact: Option<String>,
    /// These words are in it.
    pub contains: Option<String>,
    /// It is JSON, and this.
    pub json: Option<Value>,
}

/// A line that the plugin must have logged.
#[derive(Clone, Debug, PartialEq)]
pub struct LineExpect {
    /// `trace` … `error`; none is any.
    pub level: Option<String>,
    /// What it says.
    pub message: Text,
    /// Fields that it must have; a value of none may be any.
    pub fields: Vec<(String, Option<String>)>,
}

/// What `validate` or `check-parameters` must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidateExpect {
    /// Nothing against it.
    Ok,
    /// An error with these words in it.
    Refuses(String),
}

/// What must come of a question about a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum AdmissionExpect {
    /// The configuration is refused, or taken; nothing is asked.
    Validate(ValidateExpect),
    /// An error with these words in it.
    Error(String),
    /// A verdict, and lines in the log.
    Verdict {
        /// Which.
        verdict: VerdictExpect,
        /// Each must be there, in any order.
        logs: Vec<LineExpect>,
    },
}

/// A verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum VerdictExpect {
    /// Any that the contract has, or an error in the plugin's own words.
    WellFormed,
    /// Nothing against it.
    Admit,
    /// Never.
    Reject {
        /// The reason; none is any.
        reason: Option<String>,
        /// The message.
        message: Text,
    },
    /// Later.
    Defer {
        /// The reason; none is any.
        reason: Option<String>,
        /// The message.
        message: Text,
        /// When it wants to be asked again; none is any time.
        retry_after_milliseconds: Option<u64>,
    },
    /// Too little; these resources in any order, none for whatever they are.
    Shortage {
        /// The resources.
        resources: Option<Vec<ShortageExpect>>,
    },
}

/// One resource that doesn't suffice. What isn't said may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortageExpect {
    /// Its name.
    pub resource: String,
    /// What the pod asks for.
    pub requested: Option<i64>,
    /// What the others have.
    pub used: Option<i64>,
    /// What the node has.
    pub capacity: Option<i64>,
}

/// What must come of a probe.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeExpect {
    /// The configuration is refused, or taken; nothing is asked.
    Validate(ValidateExpect),
    /// The parameters are refused, or taken; nothing is probed.
    Parameters(ValidateExpect),
    /// An error with these words in it.
    Error(String),
    /// An outcome, and lines in the log.
    Outcome {
        /// Which.
        outcome: OutcomeWord,
        /// Its detail.
        detail: Text,
        /// Each must be there, in any order.
        logs: Vec<LineExpect>,
    },
}

/// The outcomes of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeWord {
    /// Any, or an error in the plugin's own words.
    WellFormed,
    /// It passes.
    Success,
    /// It passes, with something that somebody should know.
    Warning,
    /// It fails.
    Failure,
}

/// What must come of a call of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceExpect {
    /// An error with this reason.
    Error {
        /// The reason; none is any.
        reason: Option<String>,
        /// The message.
        message: Text,
        /// When it wants to be asked again; none is any time.
        retry_after_milliseconds: Option<u64>,
        /// Each must be there, in any order.
        logs: Vec<LineExpect>,
    },
    /// A snapshot.
    Snapshot {
        /// Which.
        snapshot: SnapshotExpect,
        /// The cursor; none is any.
        cursor: Option<String>,
        /// When it wants to be asked again; none is any time.
        next_poll_milliseconds: Option<u64>,
        /// Each must be there, in any order.
        logs: Vec<LineExpect>,
    },
    /// It takes what it is told, or answers with an error that has these words in it.
    Feedback {
        /// What it says.
        answer: ValidateExpect,
        /// What its error is besides.
        message: Text,
        /// Each must be there, in any order.
        logs: Vec<LineExpect>,
    },
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum SnapshotExpect {
    /// Any, or an error with a reason.
    WellFormed,
    /// As before.
    Unchanged,
    /// None.
    Empty,
    /// As many as these, in any order, each one what one manifest has among other things; none for whichever.
    Pods(Option<Vec<Value>>),
}
