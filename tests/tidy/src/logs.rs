//! What every line of the log owes its reader.

use crate::{check, files, read, relative, root};

/// Messages in upstream's own words, which begin with a small letter.
const OF_UPSTREAM: &[&str] =
    &["cgroup manager.Set failed", "updateContainerResources failed", "user namespaces: "];
/// Messages that come from elsewhere whole: from events, from plugins, from a library of the connection.
const FOREIGN: &[&str] = &["{message}", "h2"];
/// A plugin's own lines and those about them.
const OF_PLUGINS: &str = "host/wasm/src/guest/log.rs";

const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// Names that a field doesn't have, and how that is called: who looks for a pod in the log has one key to look for.
const RENAMED: &[(&str, &str)] = &[
    ("caller", "another name: lines have that key already"),
    ("cause", "error"),
    ("container", "container_name or container_id"),
    ("err", "error"),
    ("level", "another name: lines have that key already"),
    ("logger", "another name: lines have that key already"),
    ("message", "error, or part of the line's own words"),
    ("msg", "another name: lines have that key already"),
    ("namespace", "pod, or the kind of the object, with namespace/name"),
    ("pod_name", "pod, with namespace/name"),
    ("sandbox", "pod_sandbox_id"),
    ("sandbox_id", "pod_sandbox_id"),
    ("ts", "another name: lines have that key already"),
    ("uid", "pod_uid"),
    ("v", "another name: lines have that key already"),
];

/// The arguments of the macros with these names.
fn arguments_of<'a>(text: &'a str, macros: &[String]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in macros {
        let begin = format!("tracing::{name}!(");
        found.extend(text.match_indices(&begin).map(|(at, _)| arguments(&text[at + begin.len()..])));
    }
    found
}

/// The texts of macros that log, with where they stand: all string literals, of which the message is the last.
fn calls(text: &str) -> Vec<Vec<&str>> {
    let macros: Vec<String> = LEVELS.iter().map(|level| (*level).to_owned()).collect();
    let calls = arguments_of(text, &macros).into_iter();
    calls.map(|call| call.split('"').skip(1).step_by(2).collect()).collect()
}

/// The fields of macros that log and of those that make spans: their names and what they are given.
fn fields(text: &str) -> Vec<Vec<(&str, &str)>> {
    let spans = LEVELS.iter().map(|level| format!("{level}_span"));
    let macros: Vec<String> = LEVELS.iter().map(|level| (*level).to_owned()).chain(spans).collect();
    arguments_of(text, &macros).into_iter().map(|call| parts(call).filter_map(field).collect()).collect()
}

/// `name = value`, `%name`, `?name` or `name`; none of a text or of what is for the macro.
fn field(part: &str) -> Option<(&str, &str)> {
    let is_name = |text: &str| {
        let mut letters = text.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || "_.#".contains(letter))
    };
    let (name, value) = match part.split_once('=') {
        Some((name, value)) => (name.trim(), value.trim()),
        None => (part.trim_start_matches(['%', '?']), part),
    };
    is_name(name).then_some((name, value))
}

/// What commas separate that are in no brackets and in no text.
fn parts(call: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut in_text, mut escaped) = (0_i32, false, false);
    call.split(move |letter| {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '(' | '[' | '{' if !in_text => depth += 1,
            ')' | ']' | '}' if !in_text => depth -= 1,
            ',' if !in_text && depth == 0 => return true,
            _ => {}
        }
        false
    })
    .map(str::trim)
}

/// What is wrong with the fields of one line.
fn faults(fields: &[(&str, &str)]) -> Vec<String> {
    let has = |expected: &str| fields.iter().any(|(name, _)| *name == expected);
    let mut faults = Vec::new();
    for (name, value) in fields {
        if let Some((_, instead)) = RENAMED.iter().find(|(renamed, _)| renamed == name) {
            faults.push(format!("`{name}` is {instead}"));
        }
        if name.contains('.') || name.chars().any(|letter| letter.is_ascii_uppercase()) {
            faults.push(format!("`{name}` isn't in snake case"));
        }
        if *name == "pod" && value.contains("uid") {
            faults.push("`pod` is namespace/name; the UID is `pod_uid`".to_owned());
        }
    }
    if has("container_name") && !has("pod") && !has("pod_uid") {
        faults.push("`container_name` stands next to `pod` or `pod_uid`".to_owned());
    }
    faults
}

/// What stands before the parenthesis that closes the call.
fn arguments(rest: &str) -> &str {
    let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
    for (at, char) in rest.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '(' if !in_text => depth += 1,
            ')' if !in_text && depth == 0 => return &rest[..at],
            ')' if !in_text => depth -= 1,
            _ => {}
        }
    }
    rest
}

fn is_constant_sentence(message: &str) -> bool {
    let known = OF_UPSTREAM.iter().any(|words| message.starts_with(words)) || FOREIGN.contains(&message);
    known || message.starts_with(|first: char| first.is_ascii_uppercase()) && !message.contains('{')
}

#[test]
fn log_messages_are_constant_and_begin_with_a_capital() {
    let mut findings = Vec::new();
    let mut count = 0;
    for path in files(&root().join("host"), ".rs") {
        let name = relative(&path);
        if name.contains("/tests") || name == OF_PLUGINS {
            continue;
        }
        for literals in calls(&read(&path)) {
            let Some(message) = literals.last() else { continue };
            count += 1;
            if !is_constant_sentence(message) {
                findings.push(format!("{name}: {message:?}"));
            }
        }
    }
    assert!(count > 200, "only {count} lines of the log were found");
    check(
        "a line of the log is a constant message that begins with a capital; what differs are fields",
        &findings,
    );
}

#[test]
fn messages_are_distinguished() {
    for (text, expected) in [
        (r#"tracing::warn!(pod = %name, error = one("x"), "Failed to pull");"#, true),
        (r#"tracing::info!("pulled {image}");"#, false),
        (r#"tracing::debug!(%error, "Failed for {name}");"#, false),
        (r#"tracing::error!(%error, "cgroup manager.Set failed");"#, true),
    ] {
        let calls = calls(text);
        assert_eq!(
            calls.iter().filter_map(|call| call.last()).all(|m| is_constant_sentence(m)),
            expected,
            "{text}"
        );
    }
}

#[test]
fn fields_have_one_name_for_one_thing() {
    let mut findings = Vec::new();
    let mut pods = 0;
    for path in files(&root().join("host"), ".rs") {
        let name = relative(&path);
        if name.contains("/tests") {
            continue;
        }
        for fields in fields(&read(&path)) {
            pods += usize::from(fields.iter().any(|(field, _)| matches!(*field, "pod" | "pod_uid")));
            findings.extend(faults(&fields).into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    assert!(pods > 40, "only {pods} lines about pods were found");
    check("fields of the log have the names of ARCHITECTURE.md's rules", &findings);
}

#[test]
fn names_of_fields_are_distinguished() {
    for (text, expected) in [
        (r#"tracing::warn!(pod = %name, pod_uid = %uid, error = one("x, y"), "Failed");"#, 0),
        (r#"tracing::warn!(target: "plugin", plugin, %fields, "{message}");"#, 0),
        (r#"tracing::info_span!("pod", pod = %format_args!("{a}/{b}"), count = list(1, 2).len());"#, 0),
        (r#"tracing::warn!(%uid, "Failed");"#, 1),
        (r#"tracing::warn!(pod = %uid, "Failed");"#, 1),
        (r#"tracing::warn!(?container, err = "x", "Failed");"#, 2),
        (r#"tracing::debug!(container_name = name, "Failed");"#, 1),
        (r#"tracing::debug!(container_name = name, %pod, "Failed");"#, 0),
        (r#"tracing::debug_span!("call", difference.verdict, imageID = 1);"#, 2),
        (r#"tracing::warn!(%message, "Failed");"#, 1),
    ] {
        let found: Vec<String> = fields(text).iter().flat_map(|fields| faults(fields)).collect();
        assert_eq!(found.len(), expected, "{text}: {found:?}");
    }
}
