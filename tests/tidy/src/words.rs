//! The words of Kubernetes and of the container trade: names and words that the project once had in their place stay away.

use crate::{check, files, read, relative, root};

/// Words that stand for one of the field's, with that.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("beside", "next to"),
    ("desk", "status queue"),
    ("fare", "status"),
    ("fares", "status"),
    ("habit", "workload pattern"),
    ("habits", "workload patterns"),
    ("hear", "receive, observe"),
    ("heard", "received"),
    ("hears", "receives"),
    ("ledger", "checkpoint"),
    ("liar", "faulty source"),
    ("liars", "faulty sources"),
    ("looker", "inspector"),
    ("nobody", "no one, no client, no pod"),
    ("overlaid", "node overlay"),
    ("patience", "timeout"),
    ("scene", "what it is: a context, a setting"),
    ("somebody", "a client, a user"),
    ("stranger", "an unauthenticated client"),
    ("strangers", "unauthenticated clients"),
    ("told", "reported, notified"),
    ("whoever", "the caller, the client"),
];

/// Names of types that don't say what they are of. Variants of an enum have its name before theirs.
const TYPES: &[&str] = &[
    "Answer", "Asked", "Board", "Card", "Desk", "Guests", "Known", "Ledger", "Looker", "Place", "Question",
    "Scene", "Seen", "Standing", "Starting", "Taken", "Turn",
];

/// Files that don't follow: what was published, what others wrote, and what has to say the same as these.
const EXEMPT: &[&str] = &[
    "CHANGELOG.md",
    "LICENSE",
    "docs/demo.svg",
    "host/conformance/vectors/",
    "tests/guests/all-functions/",
    "tests/tidy/src/words.rs",
    "wit/",
];

/// The name of a build script's list of components, which is of guests.
const LIST_OF_GUESTS: &str = "plugins/sdk/build/src/lib.rs";

/// The words of a text, and of names within it, in small letters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_lowercase()).filter(|word| !word.is_empty())
}

/// The word behind `struct` and the like.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = if line.starts_with("pub(") { line.split_once(") ")?.1 } else { line };
    let name =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[test]
fn words_are_those_of_the_field() {
    let mut findings = Vec::new();
    for path in files(&root(), "") {
        let name = relative(&path);
        // What is no text is no prose.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) || name.ends_with(".lock") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for word in words(line) {
                if let Some((_, instead)) = WORDS.iter().find(|(ours, _)| *ours == word) {
                    findings.push(format!("{name}:{}: {word:?} is {instead}", number + 1));
                }
            }
        }
    }
    check("a word of Kubernetes or of the container trade stands where there is one", &findings);
}

#[test]
fn names_of_types_say_of_what() {
    let mut findings = Vec::new();
    for path in files(&root(), ".rs") {
        let name = relative(&path);
        for line in read(&path).lines() {
            if let Some(declared) = declared(line).filter(|declared| TYPES.contains(declared))
                && name != LIST_OF_GUESTS
            {
                findings.push(format!("{name}: {declared}"));
            }
        }
    }
    check("a type is named for what it is in the trade", &findings);
}

#[test]
fn words_and_names_are_found() {
    let found: Vec<&str> = words("fn is_told(x: Beside) // nobody's, whoever2").collect();
    assert_eq!(found, ["fn", "is", "told", "x", "eside", "nobody", "s", "whoever"]);
    for (line, expected) in [
        ("pub(in crate::plugin) struct Place {", Some("Place")),
        ("    pub enum Question<'a> {", Some("Question")),
        ("type Seen = u8;", Some("Seen")),
        ("struct Taken(u8);", Some("Taken")),
        ("let structure = Place;", None),
    ] {
        assert_eq!(declared(line), expected, "{line}");
    }
}
