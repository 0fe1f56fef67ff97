//! The code blocks of documents, for suites that try them.

use std::path::Path;

/// A block of code between fences.
pub struct Block {
    /// Where it begins: file and line, for messages.
    pub place: String,
    /// What stands behind the opening fence, such as `yaml,plugins`.
    pub kind: String,
    /// What is between the fences.
    pub text: String,
}

/// All blocks of a document, in its order. One that is part of a list is indented there, and not in its text.
///
/// # Panics
/// When the document can't be read, or a block has no end: what a test fails with.
pub fn blocks(path: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(path).expect("a document can be read");
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut indentation = "";
    for (index, line) in text.lines().enumerate() {
        let unindented = line.trim_start();
        match (unindented.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(kind), None) => {
                indentation = line.strip_suffix(unindented).unwrap_or_default();
                let place = format!("{}:{}", path.display(), index + 1);
                open = Some(Block { place, kind: kind.to_owned(), text: String::new() });
            }
            (None, Some(block)) => block.text.extend([line.strip_prefix(indentation).unwrap_or(line), "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{}: a block of code doesn't end", path.display());
    found
}

/// The parts of a document between backticks, code blocks left out.
pub fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}
