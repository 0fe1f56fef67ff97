//! Globs over names with slashes.

/// Whether the whole text fits: `*` stands for anything without a slash, `**` for anything, all else for itself. Takes at
/// most as many steps as pattern and text have bytes, multiplied.
pub(crate) fn matches(glob: &str, text: &str) -> bool {
    let (glob, text) = (glob.as_bytes(), text.as_bytes());
    // Which beginnings of the text the glob so far can stand for.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut rest = glob;
    while let Some((&first, after)) = rest.split_first() {
        let (crosses, after) = match (first, after) {
            (b'*', [b'*', after @ ..]) => (Some(true), after),
            (b'*', after) => (Some(false), after),
            (_, after) => (None, after),
        };
        match crosses {
            Some(crosses) => {
                for index in 0..text.len() {
                    reached[index + 1] |= reached[index] && (crosses || text[index] != b'/');
                }
            }
            None => {
                for index in (0..text.len()).rev() {
                    reached[index + 1] = reached[index] && text[index] == first;
                }
                reached[0] = false;
            }
        }
        rest = after;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests;
