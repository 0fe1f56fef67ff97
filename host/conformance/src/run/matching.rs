//! Whether an answer is what a case expects. Each function says what is different, or nothing.

use serde_json::Value;
use witlet_core::admission::{Shortage, Verdict};
use witlet_core::config::source::{PollAnswer, Snapshot, SourceFault};
use witlet_core::probe::ProbeOutcome;
use witlet_wasm::direct::HeardLine;
use witlet_wasm::plugin::CallError;

use super::told::error_told;
use super::{lines_told, outcome_told, poll_told, verdict_told};
use crate::cases::{
    LineExpect, OutcomeWord, ShortageExpect, SnapshotExpect, Text, ValidateExpect, VerdictExpect,
};
use crate::properties::answers;

/// A text that isn't the expected one.
pub fn text(what: &str, expected: &Text, got: &str) -> Option<String> {
    let Text { exact, contains, json } = expected;
    if let Some(exact) = exact.as_ref().filter(|exact| *exact != got) {
        return Some(format!("{what} {got:?}, where {exact:?} is expected"));
    }
    if let Some(words) = contains.as_ref().filter(|words| !got.contains(words.as_str())) {
        return Some(format!("{what} {got:?}, which doesn't contain {words:?}"));
    }
    let wanted = json.as_ref()?;
    match serde_json::from_str::<Value>(got) {
        Ok(found) => difference(wanted, &found, what),
        Err(error) => Some(format!("{what} {got:?}, which is no JSON: {error}")),
    }
}

/// In expected JSON: any value.
pub const ANY: &str = "${ANY}";
/// In expected JSON: any number above zero.
pub const POSITIVE: &str = "${POSITIVE}";

/// The first place where two JSON values differ; [`ANY`] and [`POSITIVE`] are what they stand for.
pub fn difference(expected: &Value, got: &Value, at: &str) -> Option<String> {
    match (expected, got) {
        (Value::String(any), _) if any == ANY => None,
        (Value::String(positive), Value::Number(number)) if positive == POSITIVE => {
            let above = number.as_f64().is_some_and(|number| number > 0.0);
            (!above).then(|| format!("{at} is {number}, where a number above zero is expected"))
        }
        (Value::Object(expected), Value::Object(got)) => {
            let missing = expected.iter().find_map(|(name, value)| match got.get(name) {
                Some(found) => difference(value, found, &format!("{at}.{name}")),
                None => Some(format!("{at} has no {name:?}, where {value} is expected")),
            });
            missing.or_else(|| {
                let more = got.iter().find(|(name, _)| !expected.contains_key(*name));
                more.map(|(name, value)| format!("{at} has {name:?}: {value}, which isn't expected"))
            })
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => expected
            .iter()
            .zip(got)
            .enumerate()
            .find_map(|(index, (expected, got))| difference(expected, got, &format!("{at}[{index}]"))),
        _ => (expected != got).then(|| format!("{at} is {got}, where {expected} is expected")),
    }
}

/// The first place where what is expected isn't among what there is: objects may have more fields.
pub fn lacking(expected: &Value, got: &Value, at: &str) -> Option<String> {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            expected.iter().find_map(|(name, value)| match got.get(name) {
                Some(found) => lacking(value, found, &format!("{at}.{name}")),
                None => Some(format!("{at} has no {name:?}, where {value} is expected")),
            })
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => expected
            .iter()
            .zip(got)
            .enumerate()
            .find_map(|(index, (expected, got))| lacking(expected, got, &format!("{at}[{index}]"))),
        _ => (expected != got).then(|| format!("{at} is {got}, where {expected} is expected")),
    }
}

/// Lines that were to be logged and weren't.
pub fn logs(expected: &[LineExpect], got: &[HeardLine]) -> Option<String> {
    let fits = |wanted: &LineExpect, line: &HeardLine| {
        let LineExpect { level, message, fields } = wanted;
        let has = |(name, value): &(String, Option<String>)| {
            line.fields
                .iter()
                .any(|(key, held)| key == name && value.as_ref().is_none_or(|value| value == held))
        };
        level.as_ref().is_none_or(|level| level == line.level)
            && text("it", message, &line.message).is_none()
            && fields.iter().all(has)
    };
    let missing = expected.iter().find(|wanted| !got.iter().any(|line| fits(wanted, line)))?;
    let LineExpect { level, message, fields } = missing;
    let level = level.as_deref().unwrap_or("any level");
    let words = message.exact.as_ref().or(message.contains.as_ref()).map_or("", String::as_str);
    let heard = if got.is_empty() { "nothing".to_owned() } else { format!("\n{}", lines_told(got)) };
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    let fields = if names.is_empty() { String::new() } else { format!(" with {}", names.join(", ")) };
    Some(format!("no line of {level} {words:?}{fields} in the log; it has {heard}"))
}

/// An error that was expected, and isn't there or has other words. `told` is what there is in its place.
pub fn error<T>(words: &str, result: &Result<T, CallError>, told: impl Fn() -> String) -> Option<String> {
    match result {
        Err(CallError::Refused { words: found }) if found.contains(words) => None,
        Err(CallError::Refused { words: found }) => {
            Some(format!("the error {found:?}, which doesn't contain {words:?}"))
        }
        Ok(_) | Err(_) => Some(told()),
    }
}

/// An answer of `validate` or `check-parameters`, or a load: `Err` has the plugin's words.
pub fn validate(what: &str, expected: &ValidateExpect, got: Result<(), &str>) -> Option<String> {
    match (expected, got) {
        (ValidateExpect::Ok, Ok(())) => None,
        (ValidateExpect::Ok, Err(words)) => Some(format!("{what} is refused: {words:?}")),
        (ValidateExpect::Refuses(words), Err(found)) if found.contains(words.as_str()) => None,
        (ValidateExpect::Refuses(words), Err(found)) => {
            Some(format!("{what} is refused with {found:?}, which doesn't contain {words:?}"))
        }
        (ValidateExpect::Refuses(_), Ok(())) => Some(format!("{what} is taken")),
    }
}

/// A verdict.
pub fn verdict(expected: &VerdictExpect, result: &Result<Verdict, CallError>) -> Option<String> {
    match (expected, result) {
        (VerdictExpect::WellFormed, result) => answers::verdict(result).map(|fault| fault.seen),
        (VerdictExpect::Admit, Ok(Verdict::Admit)) => None,
        (
            VerdictExpect::Reject { reason, message },
            Ok(Verdict::Reject { reason: found, message: words }),
        ) => word(reason.as_deref(), found).or_else(|| text("the message", message, words)),
        (
            VerdictExpect::Defer { reason, message, retry_after_milliseconds },
            Ok(Verdict::Defer { reason: found, message: words, retry_after }),
        ) => word(reason.as_deref(), found).or_else(|| text("the message", message, words)).or_else(|| {
            time("retry-after-milliseconds", *retry_after_milliseconds, Some(retry_after.as_millis()))
        }),
        (VerdictExpect::Shortage { resources }, Ok(Verdict::Shortage(found))) => {
            resources.as_ref().and_then(|expected| shortages(expected, found))
        }
        (
            VerdictExpect::Admit
            | VerdictExpect::Reject { .. }
            | VerdictExpect::Defer { .. }
            | VerdictExpect::Shortage { .. },
            other,
        ) => Some(verdict_told(other)),
    }
}

fn word(expected: Option<&str>, got: &str) -> Option<String> {
    let expected = expected.filter(|expected| *expected != got)?;
    Some(format!("the reason {got}, where {expected} is expected"))
}

fn time(what: &str, expected: Option<u64>, got: Option<u128>) -> Option<String> {
    let expected = expected.filter(|expected| got != Some(u128::from(*expected)))?;
    let got = got.map_or("none".to_owned(), |got| got.to_string());
    Some(format!("{what} is {got}, where {expected} is expected"))
}

fn shortages(expected: &[ShortageExpect], got: &[Shortage]) -> Option<String> {
    let same = |wanted: Option<i64>, found: i64| wanted.is_none_or(|wanted| wanted == found);
    let fits = |wanted: &ShortageExpect, found: &Shortage| {
        wanted.resource == found.resource
            && same(wanted.requested, found.requested)
            && same(wanted.used, found.used)
            && same(wanted.capacity, found.capacity)
    };
    let missing = expected.iter().find(|wanted| !got.iter().any(|found| fits(wanted, found)));
    let differs = missing.is_some() || expected.len() != got.len();
    differs.then(|| verdict_told(&Ok(Verdict::Shortage(got.to_vec()))))
}

/// An outcome.
pub fn outcome(
    expected: OutcomeWord,
    detail: &Text,
    result: &Result<ProbeOutcome, CallError>,
) -> Option<String> {
    let found = match (expected, result) {
        (OutcomeWord::WellFormed, result) => return answers::outcome(result).map(|fault| fault.seen),
        (OutcomeWord::Success, Ok(ProbeOutcome::Success(found)))
        | (OutcomeWord::Warning, Ok(ProbeOutcome::Warning(found)))
        | (OutcomeWord::Failure, Ok(ProbeOutcome::Failure(found))) => found,
        (OutcomeWord::Success | OutcomeWord::Warning | OutcomeWord::Failure, other) => {
            return Some(outcome_told(other));
        }
    };
    text("the detail", detail, found)
}

/// A source's answer, where a snapshot is expected.
pub fn snapshot(
    expected: &SnapshotExpect,
    cursor: Option<&str>,
    next_poll_milliseconds: Option<u64>,
    result: &Result<Result<PollAnswer, SourceFault>, CallError>,
) -> Option<String> {
    let answer = match (expected, result) {
        (SnapshotExpect::WellFormed, result) => return answers::poll(result).map(|fault| fault.seen),
        (_, Ok(Ok(answer))) => answer,
        (_, other) => return Some(poll_told(other)),
    };
    let different = match (expected, &answer.snapshot) {
        (SnapshotExpect::Unchanged, Snapshot::Unchanged) | (SnapshotExpect::Empty, Snapshot::Empty) => None,
        (SnapshotExpect::Pods(None), Snapshot::Pods(_)) => None,
        (SnapshotExpect::Pods(Some(expected)), Snapshot::Pods(manifests)) => pods(expected, manifests),
        _ => Some(poll_told(result)),
    };
    different
        .or_else(|| {
            let expected = cursor.filter(|expected| answer.cursor.as_deref() != Some(*expected))?;
            Some(format!("the cursor {:?}, where {expected:?} is expected", answer.cursor))
        })
        .or_else(|| {
            let got = answer.next_poll.map(|time| time.as_millis());
            time("next-poll-milliseconds", next_poll_milliseconds, got)
        })
}

/// A source's error, where one is expected.
pub fn fault(
    reason: Option<&str>,
    message: &Text,
    retry_after_milliseconds: Option<u64>,
    result: &Result<Result<PollAnswer, SourceFault>, CallError>,
) -> Option<String> {
    match result {
        Ok(Err(fault)) => word(reason, &fault.reason)
            .or_else(|| text("the message", message, &fault.message))
            .or_else(|| {
                let got = fault.retry_after.map(|time| time.as_millis());
                time("retry-after-milliseconds", retry_after_milliseconds, got)
            }),
        Ok(Ok(_)) | Err(_) => Some(poll_told(result)),
    }
}

/// What a source says to being told how pods fare.
pub fn feedback(expected: &ValidateExpect, message: &Text, result: &Result<(), CallError>) -> Option<String> {
    match (expected, result) {
        (ValidateExpect::Ok, Ok(())) => None,
        (ValidateExpect::Refuses(words), Err(CallError::Refused { words: found })) => {
            let contains = Text { contains: Some(words.clone()), ..Text::default() };
            text("the error", &contains, found).or_else(|| text("the error", message, found))
        }
        (ValidateExpect::Refuses(_), Ok(())) => Some("it takes what it is told".to_owned()),
        (_, Err(error)) => Some(error_told(error)),
    }
}

/// Whether the manifests are these pods, each one of them for one.
fn pods(expected: &[Value], manifests: &[String]) -> Option<String> {
    if expected.len() != manifests.len() {
        let names: Vec<String> = manifests.iter().map(|manifest| name_of(manifest)).collect();
        let (got, wanted) = (manifests.len(), expected.len());
        return Some(format!("{got} pods ({}), where {wanted} are expected", names.join(", ")));
    }
    let mut rest: Vec<Value> = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        match serde_saphyr::from_str(manifest) {
            Ok(value) => rest.push(value),
            Err(error) => return Some(format!("a manifest that is neither JSON nor YAML: {error}")),
        }
    }
    for wanted in expected {
        match rest.iter().position(|found| lacking(wanted, found, "").is_none()) {
            Some(at) => {
                rest.remove(at);
            }
            None => {
                let nearest = rest.first().and_then(|found| lacking(wanted, found, "a manifest"));
                let nearest = nearest.unwrap_or_default();
                return Some(format!("no manifest has {wanted}: {nearest}"));
            }
        }
    }
    None
}

fn name_of(manifest: &str) -> String {
    match answers::identity(manifest) {
        Ok([namespace, name]) => format!("{namespace}/{name}"),
        Err(problem) => format!("one that {problem}"),
    }
}

#[cfg(test)]
mod tests;
