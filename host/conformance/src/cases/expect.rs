//! What must come of a call: which answers a case can expect, and which fields say more about each.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::plugin_response::ResponseKind;

/// What must come of a call. What a case doesn't say may be anything.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expect {
    /// None for any answer that the contract has.
    pub(crate) kind: Option<ResponseKind>,
    pub(crate) reason: Option<String>,
    pub(crate) text: Text,
    pub(crate) milliseconds: Option<u64>,
    /// In any order, and no others.
    pub(crate) resources: Option<Vec<ShortageExpect>>,
    /// As many as the manifests, in any order, each one what one of them has among other things.
    pub(crate) pods: Option<Vec<Value>>,
    pub(crate) cursor: Option<String>,
    /// Each must have been logged, in any order.
    pub(crate) logs: Vec<LineExpect>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text {
    pub(crate) exact: Option<String>,
    /// All these words are in it.
    pub(crate) contains: Vec<String>,
    /// It is JSON, and this.
    pub(crate) json: Option<Value>,
}

/// One resource that doesn't suffice. What isn't said may be anything.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShortageExpect {
    pub(crate) resource: String,
    pub(crate) requested: Option<i64>,
    pub(crate) used: Option<i64>,
    pub(crate) capacity: Option<i64>,
}

/// A line that the plugin must have logged.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LineExpect {
    /// `trace`, `debug`, `info`, `warn` or `error`; none is any.
    pub(crate) level: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) message_contains: Option<String>,
    /// A value of none may be any.
    #[serde(default)]
    pub(crate) fields: BTreeMap<String, Option<String>>,
}

/// What is wrong with a part of a case: the field within the case, and why.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) field: String,
    pub(crate) problem: String,
}

/// The path of what is read as a whole (serde_path_to_error).
pub(super) const WHOLE: &str = ".";

impl Problem {
    pub(super) fn new<T>(field: impl Into<String>, problem: impl Into<String>) -> Result<T, Self> {
        Err(Self { field: field.into(), problem: problem.into() })
    }

    /// Puts an outer field before the field's name.
    pub(super) fn within(self, outer: &str) -> Self {
        // The whole of what was read has no name of its own.
        let field = if self.field == WHOLE { outer.to_owned() } else { format!("{outer}.{}", self.field) };
        Self { field, ..self }
    }
}

/// Reads a part of the file; an error has the field's path.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (field, problem) = (error.path().to_string(), error.inner().to_string());
        Problem { field, problem }
    })
}

/// Levels of lines, as the contract names them.
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

/// Every field that says more about what is expected, in some role.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExpectDocument {
    reason: Option<String>,
    message: Option<String>,
    message_contains: Option<String>,
    message_json: Option<Value>,
    detail: Option<String>,
    detail_contains: Option<String>,
    detail_json: Option<Value>,
    retry_after_milliseconds: Option<u64>,
    next_poll_milliseconds: Option<u64>,
    cursor: Option<String>,
    resources: Option<Vec<ShortageExpect>>,
    pods: Option<Vec<Value>>,
    #[serde(default)]
    logs: Vec<LineExpect>,
}

/// One thing that a case can expect.
pub(super) struct Form {
    /// The field that says it, and its value. Of none any text is taken: words of an error, or `ok`.
    field: &'static str,
    value: Option<&'static str>,
    kind: Option<ResponseKind>,
    /// Fields that say more about it.
    more: &'static [&'static str],
}

const fn form(
    field: &'static str,
    value: &'static str,
    kind: Option<ResponseKind>,
    more: &'static [&'static str],
) -> Form {
    Form { field, value: Some(value), kind, more }
}

const fn words(field: &'static str, kind: ResponseKind, more: &'static [&'static str]) -> Form {
    Form { field, value: None, kind: Some(kind), more }
}

const POLLED: &[&str] = &["cursor", "nextPollMilliseconds", "logs"];

/// What a handler's case can expect.
pub(super) const ADMISSION: &Forms = &[
    form("verdict", "wellFormed", None, &["logs"]),
    form("verdict", "admit", Some(ResponseKind::Admit), &["logs"]),
    form("verdict", "reject", Some(ResponseKind::Reject), &["reason", "message", "logs"]),
    form(
        "verdict",
        "defer",
        Some(ResponseKind::Defer),
        &["reason", "message", "retryAfterMilliseconds", "logs"],
    ),
    form("verdict", "shortage", Some(ResponseKind::Shortage), &["resources", "logs"]),
    words("error", ResponseKind::Error, &[]),
    words("validate", ResponseKind::Error, &[]),
];
/// What a probe type's case can expect.
pub(super) const PROBE: &Forms = &[
    form("outcome", "wellFormed", None, &["detail", "logs"]),
    form("outcome", "success", Some(ResponseKind::Success), &["detail", "logs"]),
    form("outcome", "warning", Some(ResponseKind::Warning), &["detail", "logs"]),
    form("outcome", "failure", Some(ResponseKind::Failure), &["detail", "logs"]),
    words("error", ResponseKind::Error, &[]),
    words("parameters", ResponseKind::ParametersRefused, &[]),
    words("validate", ResponseKind::Error, &[]),
];
/// What a step of a source's case can expect.
pub(super) const STEP: &Forms = &[
    form("snapshot", "wellFormed", None, POLLED),
    form("snapshot", "pods", Some(ResponseKind::Pods), &["pods", "cursor", "nextPollMilliseconds", "logs"]),
    form("snapshot", "empty", Some(ResponseKind::Empty), POLLED),
    form("snapshot", "unchanged", Some(ResponseKind::Unchanged), POLLED),
    words("error", ResponseKind::SourceError, &["message", "retryAfterMilliseconds", "logs"]),
    words("feedback", ResponseKind::Error, &["message", "logs"]),
];
/// What a source's case without steps can expect.
pub(super) const VALIDATE: &Forms = &[words("validate", ResponseKind::Error, &[])];

pub(super) type Forms = [Form];

/// Reads `expect:`, and says which field of the forms said what is expected.
pub(super) fn expect(
    forms: &'static Forms,
    mut fields: Map<String, Value>,
) -> Result<(&'static str, Expect), Problem> {
    fields.retain(|_, value| !value.is_null());
    let mut heads: Vec<&'static str> = forms.iter().map(|form| form.field).collect();
    heads.dedup();
    let given: Vec<&'static str> = heads.iter().copied().filter(|head| fields.contains_key(*head)).collect();
    let &[head] = &given[..] else {
        let what = if heads.contains(&"snapshot") { "a step" } else { "a case" };
        let names = heads.iter().map(|head| format!("`{head}`")).collect::<Vec<_>>().join(", ");
        let names = names.rsplit_once(", ").map_or(names.clone(), |(all, last)| format!("{all} and {last}"));
        return Problem::new(heads[0], format!("{what} expects one of {names}"));
    };
    let value: String =
        read(fields.remove(head).unwrap_or_default()).map_err(|problem| problem.within(head))?;
    let said: Vec<String> = fields.keys().cloned().collect();
    let document: ExpectDocument = read(fields.into())?;
    let forms = || forms.iter().filter(|form| form.field == head);
    let Some(form) = forms().find(|form| form.value.is_none_or(|known| known == value)) else {
        let known: Vec<&str> = forms().filter_map(|form| form.value).collect();
        return Problem::new(head, format!("unknown variant `{value}`, it is one of {}", known.join(", ")));
    };
    for name in said {
        let name = name.trim_end_matches("Contains").trim_end_matches("Json");
        if !form.more.contains(&name) {
            return Problem::new(
                name,
                format!("not allowed with `{}`: remove it", form.value.unwrap_or(head)),
            );
        }
    }
    let level =
        |line: &&LineExpect| line.level.as_ref().is_some_and(|level| !LEVELS.contains(&level.as_str()));
    if let Some(line) = document.logs.iter().find(level) {
        return Problem::new("logs", format!("{:?} is none of {}", line.level, LEVELS.join(", ")));
    }
    Ok((head, document.take(form, value)?))
}

impl ExpectDocument {
    fn take(self, form: &Form, value: String) -> Result<Expect, Problem> {
        let name = if form.more.contains(&"detail") { "detail" } else { "message" };
        let exact = self.message.or(self.detail);
        let contains = self.message_contains.or(self.detail_contains);
        let json = self.message_json.or(self.detail_json);
        let said = [exact.is_some(), contains.is_some(), json.is_some()];
        if said.into_iter().filter(|said| *said).count() > 1 {
            return Problem::new(
                name,
                format!("one of `{name}`, `{name}Contains` and `{name}Json` is enough"),
            );
        }
        let mut expect = Expect {
            kind: form.kind,
            reason: self.reason,
            text: Text { exact, contains: contains.into_iter().collect(), json },
            milliseconds: self.retry_after_milliseconds.or(self.next_poll_milliseconds),
            resources: self.resources,
            pods: self.pods,
            cursor: self.cursor,
            logs: self.logs,
        };
        match (form.value, form.kind) {
            (Some(_), _) => {}
            (None, Some(ResponseKind::SourceError)) => expect.reason = Some(value),
            (None, _) if value == "ok" && form.field != "error" => expect.kind = Some(ResponseKind::Done),
            (None, _) => expect.text.contains.insert(0, value),
        }
        Ok(expect)
    }
}
