//! The code blocks of documents, for whoever tries them.

use std::path::Path;

/// A block of code between fences.
pub(crate) struct Block {
    /// Where it begins: file and line, for messages.
    pub(crate) place: String,
    /// What stands behind the opening fence, such as `yaml,plugins`.
    pub(crate) kind: String,
    /// What is between the fences.
    pub(crate) text: String,
}

/// All blocks of a document, in its order.
pub(crate) fn blocks(path: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(path).expect("a document can be read");
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(kind), None) => {
                let place = format!("{}:{}", path.display(), index + 1);
                open = Some(Block { place, kind: kind.to_owned(), text: String::new() });
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{}: a block of code doesn't end", path.display());
    found
}
