//! `$(VAR)` in `subPathExpr`, where a variable that isn't there is an error.

use std::collections::{BTreeSet, HashMap};

#[cfg(test)]
mod tests;

/// Longest path after expansion, in bytes: what Linux takes.
pub(super) const PATH_BYTES_MAX: usize = 4096;

/// Why a text can't be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// It names variables that aren't there, or that are empty: a path mustn't change its meaning by them.
    Missing(BTreeSet<String>),
    /// It would be longer than [`PATH_BYTES_MAX`].
    TooLong,
}

/// Replaces `$(NAME)` by the last value of that name; `$$` stands for `$`, and a `$` that begins no name for itself
/// (upstream: `third_party/forked/golang/expansion`).
pub(super) fn expand(text: &str, env: &[(String, String)]) -> Result<String, ExpandError> {
    let mut out = String::new();
    let mut missing = BTreeSet::new();
    let mut rest = text;
    // The time stays in proportion to the text: each name is looked up at once, and no parenthesis is looked for behind the last one.
    let values: HashMap<&str, &str> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let last_close = text.rfind(')').unwrap_or_default();
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let closes = text.len() - after.len() <= last_close;
        let reference = after.strip_prefix('(').filter(|_| closes).and_then(|inner| inner.split_once(')'));
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = reference {
            match values.get(name).filter(|value| !value.is_empty()) {
                Some(value) => out.push_str(value),
                None => drop(missing.insert(name.to_owned())),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
        if out.len() > PATH_BYTES_MAX {
            return Err(ExpandError::TooLong);
        }
    }
    out.push_str(rest);
    if !missing.is_empty() {
        return Err(ExpandError::Missing(missing));
    }
    if out.len() > PATH_BYTES_MAX { Err(ExpandError::TooLong) } else { Ok(out) }
}
