//! The words of Kubernetes and of the container trade: names and words that the project once had in their place stay away.

use std::path::PathBuf;

use crate::{check, files, read, relative, root};

/// Words that stand for one of the field's, with that.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("beside", "next to"),
    ("complaint", "failure, finding"),
    ("complaints", "failures, findings"),
    ("crowd", "stress"),
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
    ("losses", "what was lost"),
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

/// Phrases that stand for one of the field's, with that.
const PHRASES: &[(&str, &str)] = &[
    (", for it ", "because it"),
    ("has no UID that is one", "metadata.uid must be a UUID"),
    ("tells again what it has", "Resynced"),
    ("more pods aren't run", "more pods were not admitted"),
];

/// Names of types that don't say what they are of. Variants of an enum have its name before theirs.
const TYPES: &[&str] = &[
    "Answer",
    "Asked",
    "Board",
    "Card",
    "Complaints",
    "Desk",
    "Doors",
    "Guests",
    "Known",
    "Ledger",
    "Looker",
    "Place",
    "Question",
    "Scene",
    "Seen",
    "Standing",
    "Starting",
    "Taken",
    "Turn",
    "WaitingGuests",
];

/// Files that don't follow: what was published, and what others wrote.
const EXEMPT: &[&str] = &[
    "CHANGELOG.md",
    "LICENSE",
    "docs/demo.svg",
    "tests/tidy/src/words.rs",
    "wit/admission/",
    "wit/pod-source/",
    "wit/probe/",
];

/// The name of a build script's list of components, which is of guests.
const LIST_OF_GUESTS: &str = "plugins/sdk/build/src/lib.rs";

/// The words of a text, and of names within it, in small letters: `isTold`, `IsTold`, `is_told` and `IS_TOLD` have the same two.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in text.chars() {
        let begins =
            !before.is_ascii_alphabetic() || (before.is_ascii_lowercase() && letter.is_ascii_uppercase());
        if letter.is_ascii_alphabetic() {
            if begins {
                words.push(String::new());
            }
            // Of "HTTPServer" the last capital begins the next word.
            if !begins
                && before.is_ascii_uppercase()
                && letter.is_ascii_lowercase()
                && let Some(last) = words.last_mut().filter(|last| last.len() > 1)
                && let Some(capital) = last.pop()
            {
                words.push(capital.to_string());
            }
            words.last_mut().expect("a word has begun").push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    words
}

/// The files whose words are the project's: its own, and those of the templates for projects of plugin authors.
fn own_files() -> Vec<PathBuf> {
    let mut own = files(&root(), "");
    own.extend(files(&root().join("plugins/sdk/templates/files"), ""));
    own
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
    for path in own_files() {
        let name = relative(&path);
        // What is no text is no prose.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) || name.ends_with(".lock") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let number = number + 1;
            let small = line.to_ascii_lowercase();
            for (ours, instead) in WORDS.iter().filter(|(ours, _)| small.contains(ours)) {
                if words(line).iter().any(|word| word == ours) {
                    findings.push(format!("{name}:{number}: {ours:?} is {instead}"));
                }
            }
            for (ours, instead) in PHRASES.iter().filter(|(ours, _)| line.contains(ours)) {
                findings.push(format!("{name}:{number}: {ours:?} is {instead}"));
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
    for (text, expected) in [
        ("fn is_told(x: Beside) // nobody's, whoever2", "fn is told x beside nobody s whoever"),
        ("isTold IsTold IS_TOLD Told. TOLD", "is told is told is told told told"),
        ("HTTPServer, aB, A1B", "http server a b a b"),
        ("toldest, retold", "toldest retold"),
    ] {
        assert_eq!(words(text).join(" "), expected, "{text}");
    }
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
