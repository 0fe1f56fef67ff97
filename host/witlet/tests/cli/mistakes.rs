//! The book's mistakes in rules, each typed at the command: the place, what is wrong, what to write instead, and the exit code.

use crate::eval::{eval, file};
use crate::{pod, scratch};

/// The page that a test of the checker holds complete.
const PAGE: &str = include_str!("../../../../docs/src/cel-mistakes.md");

/// So many mistakes at least are in the page.
const MISTAKES_MIN: usize = 40;

/// A mistake as the page has it.
struct Mistake {
    expression: String,
    /// Line and column, both as the page has them.
    place: (String, String),
    cause: String,
    help: String,
}

/// What a cell of the page stands for.
fn cell(text: &str) -> String {
    let bare = match text.strip_prefix("`` ").and_then(|text| text.strip_suffix(" ``")) {
        Some(text) => text,
        None if text == "(nothing)" => "",
        None => text.trim_matches('`'),
    };
    bare.replace("\\|", "|").replace(" ⏎ ", "\n")
}

fn mistakes() -> Vec<Mistake> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Written "));
    let mistake = |row: &str| {
        let row = row.strip_prefix("| ").and_then(|row| row.strip_suffix(" |"));
        let cells: Vec<&str> = row.expect("a row ends as it begins").split(" | ").collect();
        let cells: [&str; 4] = cells.try_into().expect("a row has four cells");
        let [expression, place, cause, help] = cells;
        let (line, column) = place.split_once(':').expect("line and column");
        Mistake {
            expression: cell(expression),
            place: (line.to_owned(), column.to_owned()),
            cause: cell(cause),
            help: cell(help),
        }
    };
    rows.map(mistake).collect()
}

#[test]
fn each_mistake_of_the_book_is_refused_at_its_place_with_its_cause_and_a_way_out() {
    let folder = scratch();
    let web = file(folder.path(), "web.yaml", &pod("containers: [{name: app, image: 'app:1'}]"));
    let mistakes = mistakes();
    assert!(mistakes.len() >= MISTAKES_MIN, "{} mistakes", mistakes.len());
    for Mistake { expression, place: (line, column), cause, help } in mistakes {
        assert!(!cause.is_empty() && !help.is_empty(), "{expression:?}");
        let answer = eval(&[&web, "--expression", &expression]);
        let expected = format!("error: --expression, line {line}, column {column}: {cause}; {help}\n");
        assert_eq!(
            (answer.out.as_str(), answer.code),
            (expected.as_str(), 4),
            "{expression}: {}",
            answer.err
        );
    }
}
