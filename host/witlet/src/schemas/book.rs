//! The book's page of schemas: each command that has `-o json` has one, each schema is held against an output, and lists of names are the code's.

use std::collections::BTreeSet;
use std::path::Path;

use clap::CommandFactory as _;
use serde_json::{Value, json};
use witlet_conformance::Layer;
use witlet_templates::{Language, Role};

use super::schemas;
use crate::cli::Cli;

/// Where outputs are held against schemas.
const TESTS: [&str; 2] = [include_str!("../schemas.rs"), include_str!("transfers.rs")];

fn page() -> String {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/schemas.md");
    std::fs::read_to_string(book).expect("the chapter is there")
}

/// The commands below this one that can print JSON, with their whole names.
fn with_json(name: &str, command: &clap::Command) -> Vec<String> {
    let has_json = |argument: &clap::Arg| {
        argument.get_long() == Some("output")
            && argument.get_possible_values().iter().any(|value| value.get_name() == "json")
    };
    let own = command.get_arguments().any(has_json).then(|| name.to_owned());
    let below = command.get_subcommands();
    let below = below.flat_map(|below| with_json(&format!("{name} {}", below.get_name()), below));
    own.into_iter().chain(below).collect()
}

/// The commands that a row of the page begins with, without their flags.
fn named(row: &str) -> Vec<String> {
    let cell = row.trim_start_matches('|').split('|').next().unwrap_or_default();
    let spans = cell.split('`').filter(|span| span.starts_with("witlet "));
    spans.map(|span| span.split(" --").next().unwrap_or(span).to_owned()).collect()
}

#[test]
fn every_command_with_json_has_a_row_and_every_row_a_command() {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| `witlet ") && line.contains("](schemas/"));
    let in_book: BTreeSet<String> = rows.flat_map(named).collect();
    let in_program: BTreeSet<String> = with_json("witlet", &Cli::command()).into_iter().collect();
    let lacking: Vec<_> = in_program.difference(&in_book).collect();
    assert!(lacking.is_empty(), "docs/src/schemas.md has no row with a schema for {lacking:?}");
    let gone: Vec<_> = in_book.difference(&in_program).collect();
    assert!(gone.is_empty(), "docs/src/schemas.md has rows for {gone:?}, which have no -o json");
}

#[test]
fn the_book_names_every_schema_and_a_test_holds_each() {
    let page = page();
    for name in schemas().names() {
        assert!(page.contains(&format!("(schemas/{name})")), "{name} isn't linked");
        let call = format!("holds(\"{name}\", ");
        assert!(TESTS.iter().any(|text| text.contains(&call)), "no output is held against {name}");
    }
}

#[test]
fn lists_of_names_are_those_of_the_code() {
    let languages = json!(Language::ALL.map(Language::as_str));
    let roles = json!(Role::ALL.map(Role::as_str));
    let layers = json!(Layer::ALL.map(Layer::as_str));
    for (file, pointer, expected) in [
        ("plugin-new.json", "/properties/language/enum", &languages),
        ("plugin-upgrade.json", "/properties/language/enum", &languages),
        ("plugin-new.json", "/properties/role/enum", &roles),
        ("plugin-upgrade.json", "/properties/role/enum", &roles),
        ("plugin-test.json", "/$defs/layer/enum", &layers),
    ] {
        assert_eq!(strings(schemas().at(file, pointer)), strings(expected), "{file}{pointer}");
    }
}

fn strings(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}
