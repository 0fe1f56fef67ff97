//! The documents of a file, each parsed on its own, so that a fault in one is reported for that one.

use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Error, Options};

use super::{ALIAS_BYTES_MAX, ALIAS_EVENTS_MAX, DEPTH_MAX, Fault, NODES_MAX};
use crate::yaml::{self, Position};

/// One document with its place in the file.
pub(super) struct Source<'a> {
    text: &'a str,
    /// Lines of the file before `text`.
    lines_before: usize,
    /// Line of the first content, from 1.
    pub(super) content_line: usize,
}

/// Splits at `---` in the first column, which is a separator wherever it stands (YAML 1.2, 9.1.2). Documents without
/// content are left out; directives stay with the document that follows them.
pub(super) fn documents(text: &str) -> Vec<Source<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut lines_before = 0;
    let mut content_line = None;
    let mut directives = false;
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end();
        let separates = content == "---" || content.starts_with("--- ") || content.starts_with("---\t");
        if separates && !(directives && content_line.is_none()) {
            if let Some(content_line) = content_line.take() {
                found.push(Source { text: &text[start..offset], lines_before, content_line });
            }
            (start, lines_before) = (offset, index);
        }
        let rest = if separates { content[3..].trim_start() } else { content.trim_start() };
        let is_directive = content_line.is_none() && !separates && content.starts_with('%');
        directives = (directives || is_directive) && !separates;
        let is_content = !rest.is_empty() && !rest.starts_with('#') && !is_directive && content != "...";
        if is_content && content_line.is_none() {
            content_line = Some(index + 1);
        }
        offset += line.len();
    }
    if let Some(content_line) = content_line {
        found.push(Source { text: &text[start..], lines_before, content_line });
    }
    found
}

impl Source<'_> {
    /// The document, one of so many in its file, as JSON. What begins with a brace is tried as JSON first: its escapes aren't all YAML's.
    pub(super) fn parse(&self, documents: usize) -> Result<Value, Fault> {
        if !self.text.trim_start().starts_with('{') {
            return self.parse_yaml(documents);
        }
        match serde_json::from_str(self.text) {
            Ok(value) => Ok(value),
            Err(json) => self.parse_yaml(documents).map_err(|_| Fault::Syntax {
                line: self.lines_before + json.line(),
                column: json.column(),
                message: without_place(&json.to_string()),
            }),
        }
    }

    /// Where a field stands in the file, if its path leads anywhere.
    pub(super) fn place_of(&self, path: &str, documents: usize) -> Option<Position> {
        let place = yaml::place_of(self.text, options(self.text.len(), documents), path)?;
        Some(Position { line: self.lines_before + place.line, ..place })
    }

    fn parse_yaml(&self, documents: usize) -> Result<Value, Fault> {
        let options = options(self.text.len(), documents);
        serde_saphyr::from_str_with_options(self.text, options).map_err(|error: Error| {
            let place = error.location();
            let in_text = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            Fault::Syntax {
                line: self.lines_before + place.map_or(1, |place| in_text(place.line())),
                column: place.map_or(1, |place| in_text(place.column())),
                message: in_our_words(error.without_snippet()),
            }
        })
    }
}

/// The parser speaks to programmers of its options; operators have none.
fn in_our_words(error: &Error) -> String {
    match error {
        Error::AliasReplayLimitExceeded { .. } => {
            format!("aliases must not repeat more than {ALIAS_EVENTS_MAX} values")
        }
        Error::Budget { breach: BudgetBreach::ScalarBytes { .. }, .. } => {
            format!("aliases must not repeat more than {ALIAS_BYTES_MAX} bytes of text")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("values must not be nested deeper than {DEPTH_MAX} levels")
        }
        Error::Budget { breach: BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. }, .. } => {
            format!("the document must have at most {NODES_MAX} values")
        }
        other => without_place(&yaml::words(other)),
    }
}

/// Parsers append the place, counted from the document's first line; the fault has it from the file's.
fn without_place(message: &str) -> String {
    let end = message.find(" at line ").unwrap_or(message.len());
    message[..end].trim_end_matches([',', ':', ' ']).to_owned()
}

/// Returns the options for a text of so many bytes. The documents of a file are in memory together, so that they share what aliases may add.
fn options(bytes: usize, documents: usize) -> Options {
    let documents = documents.max(1);
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_documents: 2,
            max_total_scalar_bytes: bytes + ALIAS_BYTES_MAX / documents,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIAS_EVENTS_MAX / documents,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}
