//! What becomes of a file in each state, and over two upgrades.

use super::*;

/// Digests of then, of this release, and of other content.
const THEN: &str = "then";
const NOW: &str = "now";
const OWN: &str = "own";

fn digests(digest: Option<&str>) -> Digests {
    digest.map(|digest| ("plugin.mk".to_owned(), digest.to_owned())).into_iter().collect()
}

fn file(digest: &str) -> ExistingFile {
    ExistingFile::File(digest.to_owned())
}

/// Of `plugin.mk`, with this in its place and that next to it: what becomes of it, and what is written.
fn decided(
    before: Option<&str>,
    release: Option<&str>,
    here: &ExistingFile,
    next_to_it: &ExistingFile,
) -> Option<(Action, Option<String>)> {
    let found = |path: &str| match path {
        "plugin.mk" => here.clone(),
        "plugin.mk.new" => next_to_it.clone(),
        other => panic!("{other} isn't asked for"),
    };
    let steps = plan(&digests(before), &digests(release), &found);
    assert!(steps.len() <= 1, "{steps:?}");
    steps.into_iter().next().map(|step| (step.action, step.write_to))
}

#[test]
fn a_file_that_was_changed_is_never_written_over() {
    use Action::{Blocked, Conflict, Created, Kept, Removed, Replaced, Unchanged};
    let none = ExistingFile::Missing;
    let (then, now) = (Some(THEN), Some(NOW));
    let (at, next_to_it) = (Some("plugin.mk"), Some("plugin.mk.new"));
    let cases = [
        // Then, now, here, next to it: what becomes of it, and what is written.
        (None, now, none.clone(), none.clone(), Some((Created, at))),
        (then, now, none.clone(), none.clone(), Some((Kept, None))),
        (then, None, none.clone(), none.clone(), None),
        (then, now, file(THEN), none.clone(), Some((Replaced, at))),
        (then, now, file(NOW), none.clone(), Some((Unchanged, None))),
        (now, now, file(NOW), none.clone(), Some((Unchanged, None))),
        (None, now, file(NOW), none.clone(), Some((Unchanged, None))),
        (then, None, file(THEN), none.clone(), Some((Removed, None))),
        (then, None, file(OWN), none.clone(), Some((Kept, None))),
        (then, None, ExistingFile::Other, none.clone(), None),
        (then, now, file(OWN), none.clone(), Some((Conflict, next_to_it))),
        (None, now, file(OWN), none.clone(), Some((Conflict, next_to_it))),
        (then, now, ExistingFile::Other, none.clone(), Some((Conflict, next_to_it))),
        (now, now, file(OWN), none.clone(), Some((Kept, None))),
        (now, now, ExistingFile::Other, none.clone(), Some((Kept, None))),
        // An earlier upgrade's is replaced, this one's is there already, and what is the author's own stays.
        (then, now, file(OWN), file(THEN), Some((Conflict, next_to_it))),
        (then, now, file(OWN), file(NOW), Some((Conflict, None))),
        (now, now, file(OWN), file(NOW), Some((Conflict, None))),
        (then, now, file(OWN), file(OWN), Some((Blocked, None))),
        (None, now, file(OWN), ExistingFile::Other, Some((Blocked, None))),
    ];
    for (number, (before, release, here, next, expected)) in cases.into_iter().enumerate() {
        let expected = expected.map(|(action, path)| (action, path.map(str::to_owned)));
        assert_eq!(decided(before, release, &here, &next), expected, "case {number}");
    }
}

#[test]
fn what_is_the_authors_is_no_part_of_a_plan() {
    // Whatever a project's file says.
    let before = Digests::from([
        ("src/lib.rs".to_owned(), THEN.to_owned()),
        ("README.md".to_owned(), THEN.to_owned()),
    ]);
    assert_eq!(plan(&before, &Digests::new(), &|_| file(THEN)), []);
}

#[test]
fn what_could_not_be_offered_is_offered_again() {
    let (before, release) = (digests(Some(THEN)), digests(Some(NOW)));
    let blocked = plan(&before, &release, &|_| file(OWN));
    assert!(needs_a_hand(&blocked), "{blocked:?}");
    assert_eq!(remembered(&before, &release, &blocked), before);
    assert_eq!(remembered(&Digests::new(), &release, &blocked), Digests::new());
    let offered = plan(&before, &release, &|path| {
        if path.ends_with(".new") { ExistingFile::Missing } else { file(OWN) }
    });
    assert!(needs_a_hand(&offered), "{offered:?}");
    assert_eq!(remembered(&before, &release, &offered), release);
    // Once the author has taken it.
    let taken = plan(&release, &release, &|path| {
        if path.ends_with(".new") { ExistingFile::Missing } else { file(NOW) }
    });
    assert!(!needs_a_hand(&taken), "{taken:?}");
}
