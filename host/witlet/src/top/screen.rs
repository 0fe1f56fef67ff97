//! What a terminal shows of a snapshot.

use super::source::Snapshot;
use crate::get::table::{self, one_line};
use crate::terminal::Size;

#[cfg(test)]
mod tests;

/// Puts the cursor to the beginning of the screen, clears the rest of a line, and the rest of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\r\n";
const CLEAR_REST: &str = "\x1b[J";

/// The lines of a screen: title, note, table. What doesn't fit is counted on the last line.
pub(super) fn lines(snapshot: &Snapshot, note: Option<&str>, size: Size) -> Vec<String> {
    let (width, height) = (usize::from(size.width), usize::from(size.height));
    let mut lines = vec![snapshot.title.clone(), note.unwrap_or_default().to_owned()];
    lines.extend(table::render(&snapshot.header, &snapshot.rows).lines().map(str::to_owned));
    if lines.len() > height && height > 0 {
        let hidden = lines.len() - (height - 1);
        lines.truncate(height - 1);
        lines.push(format!("… {hidden} more"));
    }
    lines
        .iter()
        .map(|line| one_line(line).chars().take(width).collect::<String>().trim_end().to_owned())
        .collect()
}

/// Returns what draws these lines over those that the screen shows.
pub(super) fn rendered(lines: &[String]) -> String {
    // No end of a line after the last, which would scroll a full screen.
    format!("{HOME}{}\x1b[K{CLEAR_REST}", lines.join(CLEAR_LINE))
}
