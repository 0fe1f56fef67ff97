//! Errors as people read them.

use std::error::Error;

/// An error with all its causes in one line, each after a colon.
pub fn one_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// What is wrong with YAML: line, column and the parser's words, without the excerpt, which would take several lines.
pub fn yaml_fault(error: &serde_saphyr::Error) -> String {
    let words = yaml_words(error.without_snippet());
    let Some(place) = error.location() else { return words };
    let end = format!(" at line {}, column {}", place.line(), place.column());
    let words = words.strip_suffix(&end).unwrap_or(&words);
    format!("line {}, column {}: {words}", place.line(), place.column())
}

/// The parser's words, except where they speak to programmers of its options.
pub(crate) fn yaml_words(error: &serde_saphyr::Error) -> String {
    match error {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("duplicate key {key:?} in a mapping")
        }
        serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => "duplicate key in a mapping".to_owned(),
        other => other.to_string(),
    }
}

/// Several errors as one, as Go's `errors.NewAggregate` prints them: equal ones once, one alone without brackets.
pub fn aggregate(errors: impl IntoIterator<Item = String>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        if !texts.contains(&error) {
            texts.push(error);
        }
    }
    let joined = texts.join(", ");
    if texts.len() == 1 { joined } else { format!("[{joined}]") }
}

#[cfg(test)]
mod tests;
