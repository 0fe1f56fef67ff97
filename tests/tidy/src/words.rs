//! The words of Kubernetes and of the container trade: names and words that the project once had in their place stay away.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::{check, files, read, relative, root};

/// Words that stand for one of the field's, with that. In names, too: `is_told`, `IsTold`.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("beside", "next to"),
    ("board", "PodStatusStore"),
    ("card", "entry"),
    ("cards", "entries"),
    ("complaint", "failure, finding"),
    ("complaints", "failures, findings"),
    ("crowd", "stress"),
    ("desk", "status queue"),
    ("door", "authentication, authorization"),
    ("doors", "authentication, authorization"),
    ("drawn", "referenced; printed, random"),
    ("fare", "status"),
    ("fares", "status"),
    ("fitted", "shrunk"),
    ("habit", "workload pattern"),
    ("habits", "workload patterns"),
    ("hear", "receive, observe"),
    ("heard", "received"),
    ("hears", "receives"),
    ("ledger", "checkpoint"),
    ("liar", "faulty source"),
    ("liars", "faulty sources"),
    ("look", "inspect, check, read"),
    ("looked", "inspected, checked, read"),
    ("looker", "inspector"),
    ("looking", "inspecting, checking, reading"),
    ("looks", "inspects, checks, reads"),
    ("losses", "what was lost"),
    ("nobody", "no one, no client, no pod"),
    ("overlaid", "node overlay"),
    ("patience", "timeout"),
    ("patient", "that waits"),
    ("room", "capacity, buffer"),
    ("rooms", "capacity"),
    ("scene", "what it is: a context, a setting"),
    ("scenes", "what they are: contexts, settings"),
    ("somebody", "a client, a user"),
    ("standing", "state"),
    ("stranger", "an unauthenticated client"),
    ("strangers", "unauthenticated clients"),
    ("told", "reported, notified"),
    ("unwanted", "undesired"),
    ("wanted", "desired, requested, expected"),
    ("whoever", "the caller, the client"),
];

/// Where a word of the table means something else, each with the reason. One that nothing uses any more goes.
const ALLOWED: &[(&str, &str)] = &[
    ("look for", "to search"),
    ("looks for", "to search"),
    ("looked for", "to search"),
    ("looking for", "to search"),
    ("look up", "to find by a name, as in a resolver"),
    ("looks up", "to find by a name, as in a resolver"),
    ("looked up", "to find by a name, as in a resolver"),
    ("looking up", "to find by a name; upstream's error of a service account has it, too"),
    ("look like", "to resemble"),
    ("looks like", "to resemble"),
    ("look as if", "to seem"),
    ("wanted to free", "the kubelet's error of the garbage collection of images"),
];

/// Phrases that stand for one of the field's, with that.
const PHRASES: &[(&str, &str)] = &[
    (", for it ", "because it"),
    (", for they ", "because they"),
    ("\"the node agent\"", "\"Started witlet\", with fields"),
    ("\"witlet runs\"", "\"Started witlet\", with fields"),
    ("has no UID that is one", "metadata.uid must be a UUID"),
    ("is_echo", "own-status update"),
    ("tells again what it has", "Resynced"),
    ("more pods aren't run", "more pods were not admitted"),
];

/// How a cause begins that "for" joins to what it is the cause of; with a verb in the same clause.
const CAUSES: &[&str] = &["its", "their", "nothing", "no", "he", "she"];

/// Verbs that make a clause of what "for" begins.
const VERBS: &[&str] = &[
    "is", "isn't", "are", "aren't", "was", "wasn't", "were", "has", "have", "can", "can't", "may", "goes",
    "waits",
];

/// Whether a line joins a cause by "for", which is "because".
fn gives_cause_by_for(line: &str) -> bool {
    line.split(", for ").skip(1).any(|rest| {
        let clause = rest.split(['.', ',', ';', ':', '`']).next().unwrap_or_default();
        let mut words = clause.split_whitespace();
        words.next().is_some_and(|first| CAUSES.contains(&first)) && words.any(|word| VERBS.contains(&word))
    })
}

/// Names of types that don't say what they are of. Variants of an enum have its name before theirs.
///
/// Of these words the table means the type, or the type's file: `answer` and `check` are functions of the published contracts, a `gauge` is a kind
/// of metric, pages are the memory's and a list's, a container is `waiting` and a volume `known`.
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
    "Look",
    "Looker",
    "Place",
    "Places",
    "Question",
    "Scene",
    "Seen",
    "Standing",
    "Starting",
    "Taken",
    "Turn",
    "Wanted",
    "WaitingGuests",
];

/// Names of files and folders that don't say what is in them.
const FILES: &[&str] = &[
    "board",
    "complaints",
    "crowd",
    "desk",
    "doors",
    "fitted",
    "habits",
    "known",
    "ledger",
    "liars",
    "look",
    "losses",
    "places",
    "scene",
    "seen",
    "told",
];

/// Every word of the vocabulary's table that is to be found in none of the lists above is a hole in them.
const TABLE: &str = "WaitingGuests Guests desk Desk Card Turn board Board Standing ledger Ledger Looker look told doors places \
                     complaints strangers seen fitted known is_echo Scene Place Starting overlaid wanted drawn room hears \
                     anew beside whoever somebody nobody patience Known Seen Answer Asked Question Taken habits liars losses crowd";

/// Files that don't follow: what was published, and what others wrote.
const EXEMPT: &[&str] = &["CHANGELOG.md", "LICENSE", "docs/demo.svg", "tests/tidy/src/words.rs", "wit/"];

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
    let mut unused: BTreeSet<&str> = ALLOWED.iter().map(|(allowed, _)| *allowed).collect();
    for path in own_files() {
        let name = relative(&path);
        // What is no text is no prose.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) || name.ends_with(".lock") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let (number, small) = (number + 1, line.to_ascii_lowercase());
            for (ours, instead) in PHRASES.iter().filter(|(ours, _)| line.contains(ours)) {
                findings.push(format!("{name}:{number}: {ours:?} is {instead}"));
            }
            if gives_cause_by_for(line) {
                findings.push(format!("{name}:{number}: \"for\" before a cause is \"because\""));
            }
            let ours: Vec<_> = WORDS.iter().filter(|(ours, _)| small.contains(ours)).collect();
            if ours.is_empty() {
                continue;
            }
            let mut sequence = format!(" {} ", words(line).join(" "));
            for (allowed, _) in ALLOWED {
                let within = format!(" {allowed} ");
                if sequence.contains(&within) {
                    sequence = sequence.replace(&within, " ");
                    unused.remove(allowed);
                }
            }
            for (ours, instead) in ours {
                if sequence.contains(&format!(" {ours} ")) {
                    findings.push(format!("{name}:{number}: {ours:?} is {instead}"));
                }
            }
        }
    }
    let unused = unused.into_iter();
    findings.extend(unused.map(|allowed| format!("nothing says {allowed:?} any more: it needs no leave")));
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
fn names_of_files_say_what_is_in_them() {
    let mut findings = Vec::new();
    for path in own_files() {
        let name = relative(&path);
        let parts = name.split('/').map(|part| part.split('.').next().unwrap_or(part));
        findings.extend(parts.filter(|part| FILES.contains(part)).map(|part| format!("{name}: {part}")));
    }
    check("a file is named for what is in it", &findings);
}

#[test]
fn every_word_of_the_table_is_held() {
    let is_held = |word: &str| {
        let small = word.to_ascii_lowercase();
        let phrases = PHRASES.iter().map(|(phrase, _)| *phrase);
        let names = TYPES.iter().chain(FILES).copied();
        WORDS.iter().any(|(ours, _)| *ours == small) || phrases.chain(names).any(|held| held == word)
    };
    let holes: Vec<String> =
        TABLE.split_whitespace().filter(|word| !is_held(word)).map(str::to_owned).collect();
    check("each word of the vocabulary's table is refused somewhere", &holes);
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
        ("the node stays Ready, for its pods go on", false),
        ("it isn't retried, for no server is there", true),
        ("kept, for their sources can't be read.", true),
        ("compared, for nothing else. It is there", false),
        ("for its name is gone", false),
        ("a list, for what pods may have", false),
    ] {
        assert_eq!(gives_cause_by_for(line), expected, "{line}");
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
