//! Formats that texts may have, as Kubernetes' library names them.

use std::borrow::Cow;

use jiff::civil::Date;

use super::call::{Call, Function, Outcome};
use crate::url::Url;
use crate::value::Value;

/// The longest label, and the longest subdomain.
const LABEL_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;

const MADE: &[&str] = &["() namedFormat"];

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "format.named", run: named, signatures: &["(string) optional(namedFormat)"] },
    Function { name: "format.dns1123Label", run: constant, signatures: MADE },
    Function { name: "format.dns1123LabelPrefix", run: constant, signatures: MADE },
    Function { name: "format.dns1123Subdomain", run: constant, signatures: MADE },
    Function { name: "format.dns1123SubdomainPrefix", run: constant, signatures: MADE },
    Function { name: "format.dns1035Label", run: constant, signatures: MADE },
    Function { name: "format.dns1035LabelPrefix", run: constant, signatures: MADE },
    Function { name: "format.qualifiedName", run: constant, signatures: MADE },
    Function { name: "format.labelValue", run: constant, signatures: MADE },
    Function { name: "format.uri", run: constant, signatures: MADE },
    Function { name: "format.uuid", run: constant, signatures: MADE },
    Function { name: "format.date", run: constant, signatures: MADE },
    Function { name: "format.datetime", run: constant, signatures: MADE },
    Function {
        name: "validate",
        run: validate,
        signatures: &["namedFormat.(string) optional(list(string))"],
    },
];

fn constant(call: &Call<'_>) -> Outcome {
    match (call.args, call.name.strip_prefix("format.")) {
        ([], Some(name)) => Ok(Value::Format(name)),
        _ => call.unfit(),
    }
}

fn named(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(desired)] = call.args else { return call.unfit() };
    let names = FUNCTIONS.iter().filter(|function| function.signatures == MADE);
    let mut names = names.filter_map(|function| function.name.strip_prefix("format."));
    let found = names.find(|name| **name == **desired);
    Ok(found.map_or(Value::Optional(None), |name| Value::some(Value::Format(name))))
}

fn validate(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::Format(name), Value::String(text)] = call.args else { return call.unfit() };
    match problem(name, text) {
        None => Ok(Value::Optional(None)),
        Some(problem) => Ok(Value::some(Value::list(vec![Value::text(problem)]))),
    }
}

/// What is wrong with a text; none if it has the format.
fn problem(name: &str, text: &str) -> Option<&'static str> {
    let (name, text) = match name.strip_suffix("Prefix") {
        Some(name) => (name, completed(text)),
        None => (name, Cow::Borrowed(text)),
    };
    let text = &*text;
    match name {
        "dns1123Label" => label(text, false),
        "dns1035Label" => label(text, true),
        "dns1123Subdomain" => subdomain(text),
        "qualifiedName" => qualified_name(text),
        "labelValue" => (!text.is_empty()).then(|| word(text)).flatten(),
        "uri" => Url::parse(text).err(),
        "uuid" => (!is_uuid(text)).then_some("does not match the UUID format"),
        "date" => (!is_date(text)).then_some("invalid date"),
        _ => (!is_date_time(text)).then_some("invalid datetime"),
    }
}

/// A name that is completed later may end with a hyphen. As upstream has it, a letter stands for that and for what is before it.
fn completed(text: &str) -> Cow<'_, str> {
    let begin = text.strip_suffix('-').and_then(|rest| rest.get(..rest.len().checked_sub(1)?));
    begin.map_or(Cow::Borrowed(text), |begin| Cow::Owned(format!("{begin}a")))
}

fn label(text: &str, begins_with_letter: bool) -> Option<&'static str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let begins = |byte: u8| if begins_with_letter { byte.is_ascii_lowercase() } else { plain(byte) };
    if text.len() > LABEL_BYTES_MAX {
        return Some("must be no more than 63 bytes");
    }
    let is_good = bytes.first().is_some_and(|byte| begins(*byte))
        && bytes.last().is_some_and(|byte| plain(*byte))
        && bytes.iter().all(|byte| plain(*byte) || *byte == b'-');
    match (is_good, begins_with_letter) {
        (true, _) => None,
        (false, true) => Some(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        ),
        (false, false) => Some(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        ),
    }
}

fn subdomain(text: &str) -> Option<&'static str> {
    if text.len() > SUBDOMAIN_BYTES_MAX {
        return Some("must be no more than 253 bytes");
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_good = text.split('.').all(|part| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(|byte| plain(*byte))
            && bytes.last().is_some_and(|byte| plain(*byte))
            && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
    });
    (!is_good).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    )
}

/// A name of a label, or a label's value.
fn word(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let is_good = bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    if text.len() > LABEL_BYTES_MAX {
        return Some("must be no more than 63 bytes");
    }
    (!is_good).then_some(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    )
}

fn qualified_name(text: &str) -> Option<&'static str> {
    match text.split_once('/') {
        Some((_, name)) if name.contains('/') => Some("a qualified name has at most one '/'"),
        Some((prefix, name)) => subdomain(prefix).or_else(|| word(name)),
        None => word(text),
    }
}

/// Groups of hexadecimal digits, each of which may be followed by a hyphen, but for the last one.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (index, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        let Some((group, behind)) = rest.split_at_checked(digits) else { return false };
        if !group.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return false;
        }
        rest = behind.strip_prefix('-').filter(|_| index < 4).unwrap_or(behind);
    }
    rest.is_empty()
}

/// A day of the years 0 to 9999, whether a timestamp can lie in it or not.
fn is_date(text: &str) -> bool {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, letter)| match at {
            4 | 7 => letter == b'-',
            _ => letter.is_ascii_digit(),
        });
    has_form && text.parse::<Date>().is_ok()
}

/// A day, and a time of it with its distance from UTC; letters may be small.
fn is_date_time(text: &str) -> bool {
    let Some((day, time)) = text.split_once(['T', 't']) else { return false };
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_digit());
    let Some((clock, behind)) = time.split_at_checked("00:00:00".len()) else { return false };
    let parts: Vec<&str> = clock.split(':').collect();
    let &[hours, minutes, seconds] = &parts[..] else { return false };
    let is_time = [(hours, "23"), (minutes, "59"), (seconds, "59")]
        .into_iter()
        .all(|(part, most)| digits(part) && part <= most);
    // A fraction has a digit at least.
    let fraction =
        behind.strip_prefix('.').map(|rest| (rest, rest.trim_start_matches(|it: char| it.is_ascii_digit())));
    let distance = match fraction {
        Some((with, without)) if with.len() > without.len() => without,
        Some(_) => return false,
        None => behind,
    };
    let is_distance = match distance.strip_prefix(['+', '-']).and_then(|distance| distance.split_once(':')) {
        Some((hours, minutes)) => digits(hours) && digits(minutes),
        None => matches!(distance, "Z" | "z"),
    };
    is_date(day) && is_time && is_distance
}
