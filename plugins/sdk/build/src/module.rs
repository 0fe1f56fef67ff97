//! The module that a crate includes.

use std::fmt::Write as _;

/// Rust source that embeds the components of these names from `OUT_DIR`: a constant for each, and the list of all.
/// Names are those of cargo targets with `-` as `_`, and thus words.
pub(crate) fn render(names: &[&str]) -> String {
    let mut source = String::new();
    let mut list = String::new();
    for name in names {
        let constant = name.to_uppercase();
        let _ = write!(
            source,
            "/// The component `{name}`.\n\
             pub const {constant}: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm\"));\n"
        );
        let _ = write!(list, "(\"{name}\", {constant}), ");
    }
    let list = list.trim_end_matches(", ");
    let _ = write!(
        source,
        "/// All components with their names, sorted.\npub const COMPONENTS: &[(&str, &[u8])] = &[{list}];\n"
    );
    source
}

#[cfg(test)]
mod tests;
