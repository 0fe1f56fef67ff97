//! The page of measured figures: its table, which `make bench` rewrites, and what it must tell.

use witlet_templates::{Language, Role};

use crate::LANGUAGES_0_2;

/// The page, below the repository.
pub const PAGE: &str = "docs/src/authors/measured.md";
/// The line before what is rewritten.
pub const BEGIN: &str = "<!-- figures: begin; `make bench` rewrites what follows -->";
/// The line after it.
pub const END: &str = "<!-- figures: end -->";
/// The columns of the table.
pub const COLUMNS: [&str; 11] = [
    "Language",
    "Role",
    "Size",
    "Compile",
    "Load",
    "Fresh p50",
    "Fresh p99",
    "Kept p50",
    "Kept p99",
    "Memory, 1 call",
    "Memory, all calls",
];

/// The contract of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// 0.1, which every language has.
    V0_1,
    /// 0.2, for which some have examples.
    V0_2,
}

impl Contract {
    /// In their order on the page.
    pub const ALL: [Self; 2] = [Self::V0_1, Self::V0_2];

    /// A role as the page and the benchmark call it: of 0.1 by its name alone.
    pub fn role(self, role: Role) -> String {
        match self {
            Self::V0_1 => role.as_str().to_owned(),
            Self::V0_2 => format!("{} 0.2", role.as_str()),
        }
    }
}

/// A row of the table: language, role, and a figure for each further column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub language: Language,
    pub role: Role,
    pub contract: Contract,
    /// In the order of [`COLUMNS`], from the third one on.
    pub figures: [String; COLUMNS.len() - 2],
}

/// What a language is called on the page.
pub const fn title(language: Language) -> &'static str {
    match language {
        Language::Rust => "Rust",
        Language::C => "C",
        Language::Python => "Python",
        Language::JavaScript => "JavaScript",
        Language::Go => "Go",
        Language::Cpp => "C++",
    }
}

/// The table, by contract, role and then language, so that languages can be compared.
pub fn table(rows: &[Row]) -> String {
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&COLUMNS);
    text.push_str(&format!("|---|---|{}\n", "---:|".repeat(COLUMNS.len() - 2)));
    for (contract, role, language) in every_row() {
        let is_it = |row: &&Row| row.contract == contract && row.role == role && row.language == language;
        for row in rows.iter().filter(is_it) {
            let (role, figures) = (contract.role(role), row.figures.iter().map(String::as_str));
            text.push_str(&line(&[title(language), &role].into_iter().chain(figures).collect::<Vec<_>>()));
        }
    }
    text
}

fn every_row() -> impl Iterator<Item = (Contract, Role, Language)> {
    let of =
        |contract| Role::ALL.into_iter().flat_map(move |role| Language::ALL.map(|of| (contract, role, of)));
    Contract::ALL.into_iter().flat_map(of)
}

/// The page with other figures; none if it has no place for them.
pub fn rewrite(page: &str, figures: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim()))
}

/// What the page doesn't tell: a language and role without a line, or a line with a gap. Empty if it tells everything.
pub fn gaps(page: &str) -> Vec<String> {
    let table = page.split_once(BEGIN).and_then(|(_, rest)| Some(rest.split_once(END)?.0));
    let Some(table) = table else { return vec![format!("there are no lines {BEGIN} and {END}")] };
    let rows: Vec<Vec<&str>> = table.lines().filter(|line| line.starts_with('|')).map(cells).collect();
    // A page from before they were measured has none of 0.2.
    let newer = Role::ALL.map(|role| Contract::V0_2.role(role));
    let has_newer = rows.iter().any(|row| row.get(1).is_some_and(|of| newer.iter().any(|role| role == of)));
    let mut gaps = Vec::new();
    for (contract, role, language) in every_row() {
        let has_examples = language == Language::Rust || LANGUAGES_0_2.contains(&language);
        if contract == Contract::V0_2 && !(has_newer && has_examples) {
            continue;
        }
        let role = contract.role(role);
        match rows.iter().find(|row| row.starts_with(&[title(language), &role])) {
            None => gaps.push(format!("{language} {role} isn't there")),
            Some(row) if row.len() != COLUMNS.len() || row.contains(&"") => {
                gaps.push(format!("{language} {role} lacks a figure"));
            }
            Some(_) => {}
        }
    }
    gaps
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_start_matches('|').trim_end_matches('|').split('|').map(str::trim).collect()
}

#[cfg(test)]
mod tests;
