//! Sources as cargo's dep-info files list them.

use std::path::PathBuf;

/// The prerequisites of the first rule of a dep-info file, which is written in Makefile syntax: a space in a path
/// is `\ `.
pub(crate) fn sources(text: &str) -> Vec<PathBuf> {
    let Some((_artifact, rest)) = text.lines().next().and_then(|rule| rule.split_once(": ")) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let mut path = String::new();
    let mut characters = rest.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next_if_eq(&' ').is_some() => path.push(' '),
            ' ' => paths.push(std::mem::take(&mut path)),
            other => path.push(other),
        }
    }
    paths.push(path);
    paths.into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests;
