//! What every line of the log owes its reader.

use crate::{check, files, read, relative, root};

/// Messages in upstream's own words, which begin with a small letter.
const OF_UPSTREAM: &[&str] =
    &["cgroup manager.Set failed", "updateContainerResources failed", "user namespaces: "];
/// Messages that come from elsewhere whole: from events, from plugins, from a library of the connection.
const FOREIGN: &[&str] = &["{message}", "h2"];
/// A plugin's own lines and those about them.
const OF_PLUGINS: &str = "host/wasm/src/guest/log.rs";

/// The texts of macros that log, with where they stand: all string literals, of which the message is the last.
fn calls(text: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for level in ["error", "warn", "info", "debug", "trace"] {
        let macro_name = format!("tracing::{level}!(");
        for (at, _) in text.match_indices(&macro_name) {
            let call = arguments(&text[at + macro_name.len()..]);
            found.push(call.split('"').skip(1).step_by(2).collect());
        }
    }
    found
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
