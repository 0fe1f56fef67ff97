//! What every source file owes its reader.

use crate::{check, files, read, relative, root};

/// Beyond this a file says at its top why it is longer.
const LINES_MAX: usize = 500;

/// How a long file begins its reason.
const LONG_FILE_REASON: &str = "//! Longer than 500 lines because";

/// Crates that may hold unsafe code, each block with its proof.
const UNSAFE_CRATES: &[&str] = &["host/wasm/", "host/node/"];

#[test]
fn every_module_says_what_it_is_for() {
    let mut findings = Vec::new();
    for path in files(&root(), ".rs") {
        let text = read(&path);
        if !text.lines().next().unwrap_or_default().starts_with("//! ") {
            findings.push(relative(&path));
        }
    }
    check("the first line of a module is a `//!` sentence", &findings);
}

#[test]
fn files_are_short_or_give_a_reason() {
    let mut findings = Vec::new();
    for path in files(&root(), ".rs") {
        let text = read(&path);
        let lines = text.lines().count();
        if lines > LINES_MAX && !text.lines().take(20).any(|line| line.starts_with(LONG_FILE_REASON)) {
            findings.push(format!("{} has {lines} lines", relative(&path)));
        }
    }
    check(&format!("a file over {LINES_MAX} lines says `{LONG_FILE_REASON} …` at its top"), &findings);
}

#[test]
fn every_link_leads_somewhere() {
    let links = files(&root(), "").into_iter().filter(|path| path.is_symlink() && !path.exists());
    let broken: Vec<String> = links.map(|path| relative(&path)).collect();
    check("a symbolic link leads to a file or folder that is there", &broken);
}

#[test]
fn unsafe_code_is_forbidden_outside_its_crates() {
    let mut findings = Vec::new();
    for manifest in files(&root(), "Cargo.toml") {
        let folder = manifest.parent().expect("a manifest lies in a folder");
        let text = read(&manifest);
        if text.contains("wit-bindgen") {
            continue; // bindings are unsafe by nature
        }
        let guest = text.contains("cdylib");
        for crate_root in ["src/lib.rs", "src/main.rs"].map(|name| folder.join(name)) {
            let name = relative(&crate_root);
            let exempt = UNSAFE_CRATES.iter().any(|path| name.starts_with(path));
            if exempt || !crate_root.exists() {
                continue;
            }
            // A component's exports are bindings, too; off wasm there are none.
            let text = read(&crate_root);
            let attribute = text.contains("#![forbid(unsafe_code)]");
            let off_wasm = text.contains("#![cfg_attr(") && text.contains("(unsafe_code)");
            if !(attribute || guest && off_wasm) {
                findings.push(name);
            }
        }
    }
    check("a crate root forbids unsafe code", &findings);
}

#[test]
fn every_unsafe_block_gives_its_proof() {
    let mut findings = Vec::new();
    for path in files(&root().join("host"), ".rs") {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let opens = line.contains("unsafe {") || line.trim_start().starts_with("unsafe impl");
            let start = at.saturating_sub(8);
            if opens && !lines[start..at].iter().any(|l| l.contains("SAFETY:")) {
                findings.push(format!("{}:{}", relative(&path), at + 1));
            }
        }
    }
    check("`// SAFETY:` stands before an unsafe block", &findings);
}

/// Whether it declares what other crates may use. What a macro declares is documented where the macro is called.
fn declares_public(line: &str) -> bool {
    let Some(item) = line.trim_start().strip_prefix("pub ") else { return false };
    let item =
        ["async ", "const ", "unsafe "].iter().fold(item, |item, word| match item.strip_prefix(word) {
            Some(rest) if rest.contains("fn ") => rest,
            _ => item,
        });
    ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "static "]
        .iter()
        .any(|kind| item.starts_with(kind))
        && !line.contains('$')
}

/// Numbers of the lines that declare something public without docs.
fn undocumented(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_documented = |at: usize| {
        let mut before = lines[..at].iter().rev().map(|line| line.trim_start());
        // Attributes stand between; one of several lines ends with its bracket.
        let mut in_attribute = false;
        before
            .find(|line| {
                let begins = line.starts_with("#[");
                let is_attribute = begins || in_attribute || *line == ")]";
                in_attribute = !begins && is_attribute;
                !is_attribute
            })
            .is_some_and(|line| line.starts_with("///"))
    };
    (0..lines.len())
        .filter(|at| declares_public(lines[*at]) && !is_documented(*at))
        .map(|at| at + 1)
        .collect()
}

#[test]
fn public_functions_and_types_are_documented() {
    let mut findings = Vec::new();
    for path in files(&root().join("host"), ".rs") {
        let lines = undocumented(&read(&path));
        findings.extend(lines.into_iter().map(|line| format!("{}:{line}", relative(&path))));
    }
    check("`///` stands before a public function or type", &findings);
}

/// Docs that say no more than the name below them.
const RESTATING: &[&str] = &[
    "How many.",
    "How.",
    "Its name.",
    "The file.",
    "The path.",
    "What happened.",
    "What.",
    "Where.",
    "Which one.",
    "Which.",
    "Why not.",
    "Why.",
];

/// Docs of a field or variant with at most so many words say no more than its name, unless one of [`FACTS`] is in them.
const NAME_WORDS_MAX: usize = 3;

/// Units, orders, bounds and formats, which few words say.
const FACTS: &[&str] = &[
    "Absolute",
    "At least",
    "Bytes",
    "CamelCase",
    "Default",
    "Empty",
    "In a row",
    "JSON",
    "Microseconds",
    "Never",
    "None",
    "Percent",
    "Thousandths",
    "column",
    "est first",
    "in bytes",
    "or bytes",
    "rder",
];

/// Sources whose docs are printed as help.
const HELP: &[&str] = &["host/witlet/src/cli", "host/witlet/src/kubelet/flags"];

/// Whether a line declares a field or a variant.
fn declares_member(line: &str) -> bool {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line =
        if line.starts_with("pub(") { line.split_once(") ").map_or(line, |(_, rest)| rest) } else { line };
    let line = line.strip_prefix("r#").unwrap_or(line);
    let end =
        line.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    match name.chars().next() {
        Some(first) if first.is_ascii_uppercase() => {
            rest.is_empty() || [",", " {", "(", " = "].iter().any(|next| rest.starts_with(next))
        }
        Some(_) => rest.starts_with(": "),
        None => false,
    }
}

/// Numbers of the lines with docs that restate the name of a field or variant.
fn restating(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_docs = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("///"));
    let documents_member = |at: usize| {
        let mut in_attribute = false;
        let declared = lines[at + 1..].iter().find(|line| {
            let is_attribute = in_attribute || line.starts_with("#[");
            in_attribute = is_attribute && !line.ends_with(']');
            !is_attribute
        });
        declared.is_some_and(|line| declares_member(line))
    };
    let says_little = |docs: &str| {
        docs.split_whitespace().count() <= NAME_WORDS_MAX
            && !docs.contains(|letter: char| letter.is_ascii_digit() || "`[".contains(letter))
            && !FACTS.iter().any(|fact| docs.contains(fact))
    };
    let restates = |at: &usize| {
        let is_one_line = !is_docs(at + 1) && at.checked_sub(1).is_none_or(|before| !is_docs(before));
        is_one_line && lines[*at].strip_prefix("/// ").is_some_and(says_little) && documents_member(*at)
    };
    (0..lines.len()).filter(restates).map(|at| at + 1).collect()
}

#[test]
fn comments_do_not_restate_names() {
    let mut findings = Vec::new();
    for path in files(&root().join("host"), ".rs") {
        let (name, text) = (relative(&path), read(&path));
        if !HELP.iter().any(|help| name.starts_with(help)) {
            let found = restating(&text).into_iter();
            findings.extend(found.map(|line| format!("{name}:{line}: say a fact, or nothing")));
        }
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().strip_prefix("/// ").is_some_and(|docs| RESTATING.contains(&docs)) {
                findings.push(format!("{}:{}: {}", relative(&path), index + 1, line.trim_start()));
            }
        }
    }
    check("a comment says more than the name below it", &findings);
}

#[test]
fn docs_that_restate_a_name_are_found() {
    let text = "struct A {\n    /// The name.\n    pub(crate) name: String,\n    /// Bytes.\n    size: u64,\n    /// The name of its pod.\n    pod: String,\n    /// A\n    /// b.\n    c: u8,\n}\n\
                enum B {\n    /// It ended.\n    #[error(\n        \"x\"\n    )]\n    Ended { at: u8 },\n    /// `1`\n    One,\n}\n/// A function.\nfn c() {}\n";
    assert_eq!(restating(text), [2, 13]);
}

#[test]
fn docs_are_found_behind_attributes() {
    let text = "/// A.\n#[derive(Debug)]\npub struct A;\n/// B.\n#[allow(\n    dead_code,\n    reason = \"x\"\n)]\npub async fn b() {}\n\
                \npub const C: u8 = 1;\n#[cfg(test)]\npub(crate) fn d() {}\npub use e;\npub struct $f;\n    pub const fn g() {}\n";
    assert_eq!(undocumented(text), [11, 16]);
}
