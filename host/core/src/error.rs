//! Errors as people read them.

use std::error::Error;

use crate::yaml;

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

/// Returns what is wrong with YAML: line, column and the parser's words. What is read by `yaml::read` names the field, too.
pub fn yaml_fault(error: &serde_saphyr::Error) -> String {
    yaml::fault(error)
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
