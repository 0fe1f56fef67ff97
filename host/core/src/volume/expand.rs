//! `$(VAR)` in `subPathExpr`, where a variable that isn't there is an error.

#[cfg(test)]
mod tests;

/// Longest path after expansion, in bytes: what Linux takes.
pub(super) const PATH_BYTES_MAX: usize = 4096;

/// Why a text can't be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// It names a variable that isn't there.
    Missing(String),
    /// It would be longer than [`PATH_BYTES_MAX`].
    TooLong,
}

/// Replaces `$(NAME)` by the last value of that name; `$$` stands for `$`, and a `$` that begins no name for itself
/// (upstream: `third_party/forked/golang/expansion`).
pub(super) fn expand(text: &str, env: &[(String, String)]) -> Result<String, ExpandError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let reference = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = reference {
            let value = env.iter().rev().find(|(known, _)| known == name);
            out.push_str(&value.ok_or_else(|| ExpandError::Missing(name.to_owned()))?.1);
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
    if out.len() > PATH_BYTES_MAX { Err(ExpandError::TooLong) } else { Ok(out) }
}
