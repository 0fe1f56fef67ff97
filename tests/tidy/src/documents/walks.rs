//! The walks through the code in ARCHITECTURE.md: a heading counts what its table has.

use crate::{check, quoted, read, root};

/// The section with the walks.
const SECTION: &str = "## Three walks";
/// A task, a channel, a thread or a socket between two steps.
const CROSSING: char = '×';

/// Headings with the rows of their tables.
fn walks(architecture: &str) -> Vec<(&str, Vec<&str>)> {
    let section = architecture.split(SECTION).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let walks = section.split("\n**").skip(1).filter_map(|walk| walk.split_once("**\n"));
    walks
        .map(|(heading, rest)| {
            let lines = rest.lines().skip_while(|line| !line.starts_with('|'));
            let table = lines.take_while(|line| line.starts_with('|'));
            // Behind the names of the columns and the line below them.
            (heading, table.skip(2).collect())
        })
        .collect()
}

/// The number before this word.
fn counted(heading: &str, of: &str) -> Option<usize> {
    heading
        .split(of)
        .next()
        .filter(|before| before.len() < heading.len())?
        .split_whitespace()
        .next_back()?
        .parse()
        .ok()
}

/// What the heading says, and what the table has.
fn counts(heading: &str, rows: &[&str]) -> Vec<(Option<usize>, usize)> {
    let files = counted(heading, " files");
    let steps = counted(heading, " hops").or_else(|| counted(heading, " crossings"));
    if files.is_none() {
        return vec![(steps, rows.len())];
    }
    let table = rows.join("\n");
    vec![(files, quoted(&table).len()), (steps, table.matches(CROSSING).count())]
}

#[test]
fn walks_have_as_many_files_and_crossings_as_they_say() {
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let walks = walks(&architecture);
    assert_eq!(walks.len(), 3, "{SECTION}");
    let mut findings = Vec::new();
    for (heading, rows) in walks {
        let wrong = counts(heading, &rows).into_iter().filter(|(said, found)| *said != Some(*found));
        findings.extend(wrong.map(|(said, found)| format!("{heading:?} says {said:?}, found {found}")));
    }
    check("a walk's heading counts what its table has", &findings);
}

#[test]
fn counts_of_walks_are_found() {
    let text = "## Three walks\n\n**One: 2 files, 1 crossings.**\n\n| | F |\n|---|---|\n| a | `x` × `y` |\n\nProse.\n\n\
                **Two: 2 hops.**\n\n| H | F |\n|---|---|\n| 1 | `x` |\n| 2 | `y` |\n\n## Next\n\n**Three: 9 hops.**\n";
    let found: Vec<_> = walks(text).iter().map(|(heading, rows)| counts(heading, rows)).collect();
    assert_eq!(found, [vec![(Some(2), 2), (Some(1), 1)], vec![(Some(2), 2)]]);
    assert_eq!(counted("no number files", " files"), None);
}
