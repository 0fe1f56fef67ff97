//! The policies answer the cases that those of 0.2 answer, and the book says how many lines both take.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler as _, Verdict};

use super::{Config, POLICIES, Policies};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    config: Value,
    #[serde(default)]
    request: Value,
    expect: Value,
}

/// A policy's name in the code.
fn named(config: &Value) -> Option<&'static str> {
    let policy = config["policy"].as_str()?;
    POLICIES.iter().copied().find(|name| name.to_lowercase() == policy.to_lowercase())
}

/// The cases of these policies, which `policies` of 0.2 answers in every language.
fn cases() -> impl Iterator<Item = Case> {
    let text = include_str!("../../../../examples/plugins/cases/policies.yaml");
    let cases: Cases = serde_saphyr::from_str(text).expect("it is YAML");
    cases.cases.into_iter().filter(|case| named(&case.config).is_some())
}

fn load(config: &Value) -> Result<Config, String> {
    let config: Config = serde_json::from_value(config.clone()).map_err(|error| error.to_string())?;
    Policies::validate(&config).map_err(|error| error.to_string())?;
    Ok(config)
}

fn answer(config: &Config, pod: &Value) -> Value {
    let facts = RequestFacts { pod: PodFacts::of(pod), ..RequestFacts::default() };
    match Policies::admit(&facts.request(), config).expect("a verdict") {
        Verdict::Admit => json!({"verdict": "admit"}),
        Verdict::Reject(it) => json!({"verdict": "reject", "reason": it.reason, "message": it.message}),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_policy_answers_the_cases_of_0_2() {
    let mut answered: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for Case { name, config, request, expect } in cases() {
        if let Some(words) = expect["validate"].as_str() {
            let error = load(&config).expect_err(&name);
            assert!(error.contains(words), "{name}: {error}");
            continue;
        }
        let loaded = load(&config).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = answer(&loaded, &request["pod"]);
        for (field, expected) in expect.as_object().expect("it expects something") {
            match (field.as_str(), expected.as_str()) {
                ("messageContains", Some(words)) => {
                    let message = found["message"].as_str().unwrap_or_default();
                    assert!(message.contains(words), "{name}: {message}");
                }
                _ => assert_eq!(&found[field], expected, "{name}: {found}"),
            }
        }
        let verdict = found["verdict"].as_str().unwrap_or_default().to_owned();
        answered.entry(named(&config).unwrap_or_default()).or_default().insert(verdict);
    }
    for policy in POLICIES {
        assert_eq!(answered.get(policy).map(BTreeSet::len), Some(2), "{policy}: both verdicts have a case");
    }
}

/// Lines that are neither empty nor comments nor imports.
fn lines<'a>(text: impl IntoIterator<Item = &'a str>) -> usize {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ");
    text.into_iter().map(str::trim).filter(is_code).count()
}

/// What a function's body has, from its name on.
fn body<'a>(part: &'a str, function: &str) -> impl Iterator<Item = &'a str> {
    let body = part.split(function).nth(1).unwrap_or_default();
    body.lines().skip(1).take_while(|line| *line != "    }")
}

/// By policy, how many lines its logic has on 0.2.
fn on_0_2() -> BTreeMap<&'static str, usize> {
    let sources = [
        include_str!("../../../../examples/plugins/rust/policies/src/images.rs"),
        include_str!("../../../../examples/plugins/rust/policies/src/security.rs"),
        include_str!("../../../../examples/plugins/rust/policies/src/host.rs"),
        include_str!("../../../../examples/plugins/rust/policies/src/resources.rs"),
        include_str!("../../../../examples/plugins/rust/policies/src/metadata.rs"),
    ];
    let parts = sources.into_iter().flat_map(|source| source.split("\nimpl AdmissionHandler for ").skip(1));
    let counted = parts.filter_map(|part| {
        let name = part.split_whitespace().next().unwrap_or_default();
        let known = POLICIES.iter().find(|policy| **policy == name)?;
        Some((*known, lines(body(part, "fn admit("))))
    });
    counted.collect()
}

/// On 0.1: those of its logic and of what it decodes by itself, and those that it shares.
fn on_0_1() -> BTreeMap<&'static str, (usize, usize)> {
    let source = include_str!("policies.rs");
    let shared = [
        ("containers(pod)", lines(include_str!("containers.rs").lines())),
        ("images(pod)", lines(include_str!("images.rs").lines())),
    ];
    let mut counted = BTreeMap::new();
    let mut decoded = 0;
    // A policy ends with the end of its `impl`; before the next one's own comment stand the types that it decodes.
    for part in source.split("\n}\n") {
        match part.split_once("impl Policy for ") {
            None if part.contains("pub struct ") => {}
            None => decoded += lines(part.lines()) + 1,
            Some((_, policy)) => {
                let name = policy.split_whitespace().next().unwrap_or_default();
                let known = POLICIES.iter().find(|known| **known == name).expect("it is a policy");
                let own = lines(body(policy, "fn objection(")) + std::mem::take(&mut decoded);
                let of_others = shared.iter().filter(|(call, _)| policy.contains(call));
                counted.insert(*known, (own, of_others.map(|(_, lines)| lines).sum()));
            }
        }
    }
    counted
}

#[test]
fn the_book_says_how_many_lines_policies_had_before_and_have_now() {
    let book = include_str!("../../../../docs/src/authors/admission-0.2.md");
    let header = "| Policy | 0.2, Rust | 0.2, Python | 0.1, Rust | what 0.1 makes it read itself |";
    let rows =
        book.lines().skip_while(|line| *line != header).skip(2).take_while(|line| line.starts_with('|'));
    let of_book: BTreeMap<String, Vec<usize>> = rows
        .filter_map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?.to_lowercase();
            let number = |at: usize| cells.get(at).and_then(|cell| cell.parse().ok());
            Some((name, vec![number(1)?, number(3)?, number(4)?]))
        })
        .collect();
    let (before, now) = (on_0_1(), on_0_2());
    let counted = POLICIES.iter().map(|name| {
        let (own, shared) = before[name];
        (name.to_lowercase(), vec![now[name], own, shared])
    });
    assert_eq!(of_book, counted.collect(), "rows of {header}");
}
