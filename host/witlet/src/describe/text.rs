//! Text in fields: keys under headings, values in a column.

use crate::get::table::one_line;

#[cfg(test)]
mod tests;

/// What a level is indented by.
const INDENT: &str = "  ";
/// Between the longest key and the values.
const GAP: usize = 2;

/// What stands where there is nothing.
pub(super) const NONE: &str = "<none>";

/// A text that grows line by line.
#[derive(Debug, Default)]
pub(super) struct Text {
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    /// Key and value, which stands in a column with those of the lines around it.
    Field(String, String),
    Plain(String),
}

impl Text {
    /// `Key:`, with what belongs to it below.
    pub(super) fn heading(&mut self, level: usize, key: &str) {
        self.lines.push(Line::Plain(format!("{}{}:", INDENT.repeat(level), one_line(key))));
    }

    /// `Key:  value`
    pub(super) fn field(&mut self, level: usize, key: &str, value: impl AsRef<str>) {
        let key = format!("{}{}:", INDENT.repeat(level), one_line(key));
        self.lines.push(Line::Field(key, one_line(value.as_ref())));
    }

    /// The same if there is a value.
    pub(super) fn some(&mut self, level: usize, key: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value.filter(|value| !value.as_ref().is_empty()) {
            self.field(level, key, value);
        }
    }

    /// A field with a value on each line.
    pub(super) fn list(&mut self, level: usize, key: &str, values: impl IntoIterator<Item = String>) {
        let mut values = values.into_iter();
        self.field(level, key, values.next().as_deref().unwrap_or(NONE));
        for value in values {
            self.lines.push(Line::Field(String::new(), one_line(&value)));
        }
    }

    /// A heading with an indented table below; the words in place of one without rows.
    pub(super) fn table(&mut self, key: &str, rows: usize, table: &str, without: &str) {
        if rows == 0 {
            return self.field(0, key, without);
        }
        self.heading(0, key);
        self.lines.extend(table.lines().map(|line| Line::Plain(format!("{INDENT}{line}"))));
    }

    /// A line as it is, on one line.
    pub(super) fn line(&mut self, level: usize, line: &str) {
        self.lines.push(Line::Plain(format!("{}{}", INDENT.repeat(level), one_line(line))));
    }

    /// Returns all of it. Values stand in one column as long as no other line is between them.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let is_field = |line: &Line| matches!(line, Line::Field(..));
        for run in self.lines.chunk_by(|left, right| is_field(left) && is_field(right)) {
            let keys = run.iter().filter_map(|line| match line {
                Line::Field(key, _) => Some(key.chars().count()),
                Line::Plain(_) => None,
            });
            let width = keys.max().unwrap_or_default() + GAP;
            for line in run {
                let line = match line {
                    Line::Field(key, value) => format!("{key:<width$}{value}"),
                    Line::Plain(line) => line.clone(),
                };
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text
    }
}
