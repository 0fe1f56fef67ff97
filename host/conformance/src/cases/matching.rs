//! Whether an answer is what a case expects. Each function says what is different, or nothing.

use serde_json::Value;
use witlet_core::admission::Shortage;
use witlet_wasm::direct::CapturedLine;

use super::expect::{Expect, LineExpect, ShortageExpect, Text};
use crate::plugin_response::{CallResult, PluginResponse, ResponseKind, fault, in_words, names};

/// How much of expected JSON is shown: what differs is shown anyway.
const JSON_BYTES_SHOWN_MAX: usize = 200;
const LINES_SHOWN_MAX: usize = 10;

/// Returns what is different from what is expected. `contract` is what every answer must keep.
pub(crate) fn differs(
    expect: &Expect,
    answered: &CallResult,
    lines: &[CapturedLine],
    contract: &'static str,
) -> Option<String> {
    let answer = match (expect.kind, answered) {
        (None, answered) => match fault(answered, contract) {
            Some(fault) => return Some(fault.seen),
            None => answered.as_ref().ok(),
        },
        (Some(kind), Ok(answer)) if answer.kind == kind => Some(answer),
        (Some(_), answered) => return Some(in_words(answered)),
    };
    answer.and_then(|answer| of_answer(expect, answer)).or_else(|| logs(&expect.logs, lines))
}

fn of_answer(expect: &Expect, answer: &PluginResponse) -> Option<String> {
    let Expect { reason, text: required, milliseconds, resources, pods: manifests, cursor, .. } = expect;
    let what = match answer.kind {
        ResponseKind::Success | ResponseKind::Warning | ResponseKind::Failure => "the detail",
        ResponseKind::Error | ResponseKind::ParametersRefused => "the error",
        _ => "the message",
    };
    let reason = reason.as_ref().filter(|reason| **reason != answer.reason);
    reason
        .map(|reason| format!("the reason {}, where {reason} is expected", answer.reason))
        .or_else(|| text(what, required, &answer.text))
        .or_else(|| {
            let required = milliseconds.filter(|required| answer.milliseconds != Some(*required))?;
            let got = answer.milliseconds.map_or("no time".to_owned(), |got| format!("{got}ms"));
            Some(format!("it wants to be asked again after {got}, where {required}ms is expected"))
        })
        .or_else(|| {
            shortages(resources.as_deref()?, &answer.shortages).then(|| in_words(&Ok(answer.clone())))
        })
        .or_else(|| pods(manifests.as_ref()?, &answer.manifests))
        .or_else(|| {
            let required = cursor.as_ref().filter(|required| answer.cursor.as_ref() != Some(required))?;
            Some(format!("the cursor {:?}, where {required:?} is expected", answer.cursor))
        })
}

fn text(what: &str, expected: &Text, got: &str) -> Option<String> {
    let Text { exact, contains, json } = expected;
    if let Some(exact) = exact.as_ref().filter(|exact| *exact != got) {
        return Some(format!("{what} {got:?}, where {exact:?} is expected"));
    }
    if let Some(words) = contains.iter().find(|words| !got.contains(words.as_str())) {
        return Some(format!("{what} {got:?}, which doesn't contain {words:?}"));
    }
    let required = json.as_ref()?;
    match serde_json::from_str::<Value>(got) {
        Ok(found) => difference(required, &found, what, Fields::Exactly),
        Err(error) => Some(format!("{what} {got:?}, which is no JSON: {error}")),
    }
}

/// In expected JSON: any value.
const ANY: &str = "${ANY}";
/// In expected JSON: any number above zero.
const POSITIVE: &str = "${POSITIVE}";

/// Which fields an object has where some are expected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    Exactly,
    AtLeast,
}

/// The first place where two JSON values differ; [`ANY`] and [`POSITIVE`] are what they stand for.
fn difference(expected: &Value, got: &Value, at: &str, fields: Fields) -> Option<String> {
    match (expected, got) {
        (Value::String(any), _) if any == ANY => None,
        (Value::String(positive), Value::Number(number)) if positive == POSITIVE => {
            let above = number.as_f64().is_some_and(|number| number > 0.0);
            (!above).then(|| format!("{at} is {number}, where a number above zero is expected"))
        }
        (Value::Object(expected), Value::Object(got)) => {
            let missing = expected.iter().find_map(|(name, value)| match got.get(name) {
                Some(found) => difference(value, found, &format!("{at}.{name}"), fields),
                None => Some(format!("{at} has no {name:?}, where {value} is expected")),
            });
            missing.or_else(|| {
                let is_wrong = |name: &str| fields == Fields::Exactly && !expected.contains_key(name);
                let more = got.iter().find(|(name, _)| is_wrong(name));
                more.map(|(name, value)| format!("{at} has {name:?}: {value}, which isn't expected"))
            })
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => {
            expected.iter().zip(got).enumerate().find_map(|(index, (expected, got))| {
                difference(expected, got, &format!("{at}[{index}]"), fields)
            })
        }
        _ => (expected != got).then(|| format!("{at} is {got}, where {expected} is expected")),
    }
}

fn logs(expected: &[LineExpect], got: &[CapturedLine]) -> Option<String> {
    let fits = |required: &LineExpect, line: &CapturedLine| {
        let LineExpect { level, message, message_contains, fields } = required;
        let has = |(name, value): (&String, &Option<String>)| {
            let held = line.fields.iter().filter(|(key, _)| key == name);
            held.into_iter().any(|(_, held)| value.as_ref().is_none_or(|value| value == held))
        };
        level.as_ref().is_none_or(|level| level == line.level)
            && message.as_ref().is_none_or(|exact| *exact == line.message)
            && message_contains.as_ref().is_none_or(|words| line.message.contains(words))
            && fields.iter().all(has)
    };
    let missing = expected.iter().find(|required| !got.iter().any(|line| fits(required, line)))?;
    let LineExpect { level, message, message_contains, fields } = missing;
    let level = level.as_deref().unwrap_or("any level");
    let words = message.as_ref().or(message_contains.as_ref()).map_or("", String::as_str);
    let captured = if got.is_empty() { "nothing".to_owned() } else { format!("\n{}", log_text(got)) };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let fields = if names.is_empty() { String::new() } else { format!(" with {}", names.join(", ")) };
    Some(format!("no line of {level} {words:?}{fields} in the log; it has {captured}"))
}

fn shortages(expected: &[ShortageExpect], got: &[Shortage]) -> bool {
    let same = |required: Option<i64>, found: i64| required.is_none_or(|required| required == found);
    let fits = |required: &ShortageExpect, found: &Shortage| {
        required.resource == found.resource
            && same(required.requested, found.requested)
            && same(required.used, found.used)
            && same(required.capacity, found.capacity)
    };
    let all = expected.iter().all(|required| got.iter().any(|found| fits(required, found)));
    !all || expected.len() != got.len()
}

/// Whether the manifests are these pods, each one of them for one.
fn pods(expected: &[Value], manifests: &[String]) -> Option<String> {
    if expected.len() != manifests.len() {
        let (got, required) = (manifests.len(), expected.len());
        return Some(format!("{got} pods ({}), where {required} are expected", names(manifests)));
    }
    let mut rest: Vec<Value> = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        match serde_saphyr::from_str(manifest) {
            Ok(value) => rest.push(value),
            Err(error) => return Some(format!("a manifest that is neither JSON nor YAML: {error}")),
        }
    }
    let lacking =
        |required: &Value, found: &Value, at: &str| difference(required, found, at, Fields::AtLeast);
    for required in expected {
        let Some(at) = rest.iter().position(|found| lacking(required, found, "").is_none()) else {
            let nearest = rest.first().and_then(|found| lacking(required, found, "a manifest"));
            return Some(format!("no manifest has {required}: {}", nearest.unwrap_or_default()));
        };
        rest.remove(at);
    }
    None
}

/// Returns what was logged, each line in one; nothing for a silent one.
pub(crate) fn log_text(lines: &[CapturedLine]) -> String {
    let mut shown: Vec<String> = lines.iter().take(LINES_SHOWN_MAX).map(line_text).collect();
    if lines.len() > LINES_SHOWN_MAX {
        shown.push(format!("… and {} lines more", lines.len() - LINES_SHOWN_MAX));
    }
    shown.join("\n")
}

pub(crate) fn line_text(line: &CapturedLine) -> String {
    let fields: String = line.fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{}: {}{fields}", line.level, line.message)
}

/// Returns what is expected, in words. `whole` is what stands for any answer that the contract has.
pub(crate) fn said(expect: &Expect, whole: &str) -> String {
    let Expect { kind, reason, text, milliseconds, resources, pods, .. } = expect;
    let reason = reason.as_ref().map(|word| format!(" {word}"));
    let exact = text.exact.as_ref().map(|exact| format!(" {exact:?}"));
    let contains = text.contains.iter().map(|words| format!(" with {words:?} in it"));
    let json = text.json.as_ref().map(|json| {
        let json = json.to_string();
        format!(" with the JSON {}", &json[..json.floor_char_boundary(JSON_BYTES_SHOWN_MAX)])
    });
    let time = milliseconds.map(|time| format!(" after {time}ms"));
    let lacks = resources.iter().flatten().map(|resource| format!(" {resource:?}"));
    let count = pods.as_ref().map(|pods| format!(", {} of them", pods.len()));
    let parts = [reason, exact].into_iter().flatten().chain(contains).chain(json).chain(time);
    let parts: String = parts.chain(lacks).chain(count).collect();
    format!("{}{parts}", kind.map_or(whole, |kind| kind.as_str()))
}

#[cfg(test)]
mod tests;
