//! The page that is written tells everything, and one that doesn't is found.

use witlet_templates::{Language, Role};

use super::{BEGIN, COLUMNS, Contract, END, Row, gaps, rewrite, table};
use crate::LANGUAGES_0_2;

fn rows_of(contract: Contract, languages: &[Language]) -> Vec<Row> {
    let figures = || std::array::from_fn(|at| format!("{at} µs"));
    let row = |(language, role)| Row { language, role, contract, figures: figures() };
    let all = languages.iter().flat_map(|language| Role::ALL.map(|role| (*language, role)));
    all.map(row).collect()
}

fn rows() -> Vec<Row> {
    rows_of(Contract::V0_1, &Language::ALL)
}

#[test]
fn examples_of_0_2_have_rows_of_their_own_behind_the_others() {
    let page = |rows: &[Row]| rewrite(&format!("{BEGIN}{END}"), &table(rows)).expect("it has a place");
    let all = [rows(), rows_of(Contract::V0_2, &LANGUAGES_0_2), rows_of(Contract::V0_2, &[Language::Rust])];
    let all = all.concat();
    let written = page(&all);
    assert_eq!(gaps(&written), Vec::<String>::new());
    let order: Vec<&str> = written.lines().filter(|line| line.contains("admission")).collect();
    assert!(order[0].starts_with("| Rust | admission |"), "{written}");
    assert!(order[Language::ALL.len()].starts_with("| Rust | admission 0.2 |"), "{written}");
    let without_rust = &all[..all.len() - 1];
    assert_eq!(gaps(&page(without_rust)), ["rust pod-source 0.2 isn't there"]);
}

#[test]
fn a_rewritten_page_tells_everything_and_keeps_its_words() {
    let page = format!("# Measured\n\nbefore\n\n{BEGIN}\nold\n{END}\n\nafter\n");
    let written = rewrite(&page, &table(&rows())).expect("it has a place for them");
    assert_eq!(gaps(&written), Vec::<String>::new());
    assert!(written.starts_with("# Measured\n\nbefore\n") && written.ends_with("\nafter\n"), "{written}");
    assert!(!written.contains("old"));
    assert_eq!(rewrite(&written, &table(&rows())).as_deref(), Some(written.as_str()), "it is done once");
}

#[test]
fn a_page_without_a_place_or_with_gaps_is_found() {
    assert_eq!(rewrite("# Measured\n", "x"), None);
    assert_eq!(gaps("# Measured\n").len(), 1);
    let mut rows = rows();
    rows.remove(0);
    rows[0].figures[3] = String::new();
    let page = rewrite(&format!("{BEGIN}{END}"), &table(&rows)).expect("it has a place for them");
    assert_eq!(gaps(&page), ["rust admission isn't there", "rust probe lacks a figure"]);
}

#[test]
fn languages_of_a_role_stand_together() {
    let table = table(&rows());
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2 + Language::ALL.len() * Role::ALL.len());
    assert!(
        lines[2].starts_with("| Rust | admission | 0 µs |") && lines[3].starts_with("| C | admission"),
        "{table}"
    );
    assert!(lines.iter().all(|line| line.matches('|').count() == COLUMNS.len() + 1), "{table}");
}
