//! The operator's book, held against the program: every field of a plugin file is in it, and nothing else; what it shows is
//! taken by the parser, and what it calls refused is refused in these words.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::metrics::CallOutcome;
use crate::plugin::config::{
    ConfigError, EXCLUSIONS_MAX, FEATURES, GRANTS_MAX, MATCH_ITEMS_MAX, PLUGINS_MAX, PluginConfiguration,
    SECRETS_MAX, Shipped, WARM_MAX, parse,
};
use crate::record::RECORDS_MAX;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::error::one_line;
use witlet_core::probe::desired::desired_probes;

use witlet_tidy::{Block, blocks, check, files, quoted, read, relative, root};

/// A field that no file has.
const UNKNOWN: &str = "no-such-field";

fn chapters() -> Vec<PathBuf> {
    files(&root().join("docs/src"), ".md")
}

fn reference() -> String {
    read(&root().join("docs/src/reference.md"))
}

fn all_blocks() -> Vec<Block> {
    chapters().iter().flat_map(|path| blocks(path)).collect()
}

/// As the program reads a plugin file.
fn parsed(text: &str) -> Result<PluginConfiguration, ConfigError> {
    let names = |shipped: &[witlet_plugins::Builtin]| shipped.iter().map(|s| s.name).collect::<Vec<_>>();
    let types = names(witlet_plugins::PROBES);
    let reserved = [names(witlet_plugins::ADMISSION), types.clone()].concat();
    let components = names(witlet_plugins::SHIPPED);
    parse(text, Shipped { reserved: &reserved, probe_types: &types, components: &components })
}

/// The fields that the parser knows at a place, in its own words; none if no map stands there.
fn known_at(steps: &[String]) -> Option<Vec<String>> {
    let mut document = json!({ UNKNOWN: 1 });
    for step in steps.iter().rev() {
        document = match step.strip_suffix("[]") {
            Some(name) => json!({ name: [document] }),
            None => json!({ step.as_str(): document }),
        };
    }
    let Err(ConfigError::Syntax { message }) = parsed(&document.to_string()) else { return None };
    let (_, rest) = message.split_once(&format!("unknown field `{UNKNOWN}`, expected one of "))?;
    Some(rest.lines().next()?.split(", ").map(str::to_owned).collect())
}

/// All fields below a place, as paths.
fn fields_below(steps: &[String], found: &mut BTreeSet<String>) {
    for name in known_at(steps).unwrap_or_default() {
        let with = |step: String| [steps, &[step]].concat();
        found.insert(with(name.clone()).join("."));
        fields_below(&with(name.clone()), found);
        fields_below(&with(format!("{name}[]")), found);
    }
}

fn parsers_fields() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    fields_below(&[], &mut found);
    found
}

/// What the tables of the reference begin their rows with.
fn books_fields() -> BTreeSet<String> {
    let text = reference();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}

#[test]
fn the_book_has_every_field_of_a_plugin_file_and_no_other() {
    let (parsers, books) = (parsers_fields(), books_fields());
    assert!(
        parsers.contains("plugins[].admission.match.namespaces"),
        "the parser tells its fields: {parsers:?}"
    );
    let missing = parsers.difference(&books).map(|field| format!("{field} isn't in the book"));
    let unknown = books.difference(&parsers).map(|field| format!("{field} is in the book only"));
    check("docs/src/reference.md has the parser's fields", &missing.chain(unknown).collect::<Vec<_>>());
}

#[test]
fn fields_that_chapters_name_exist() {
    let known = parsers_fields();
    let of_entry = |field: &str| field.strip_prefix("plugins[].").map(str::to_owned);
    let first = |field: String| field.split_once('.').map(|(first, _)| first.to_owned());
    let maps: BTreeSet<String> = known.iter().filter_map(|field| of_entry(field)).filter_map(first).collect();
    let mut findings = Vec::new();
    for path in chapters() {
        for name in quoted(&read(&path)) {
            let first = name.split('.').next().unwrap_or_default();
            let is_field = name.contains('.')
                && maps.contains(first)
                && name.chars().all(|char| char.is_ascii_alphanumeric() || ".[]".contains(char));
            if is_field && !known.contains(&format!("plugins[].{name}")) {
                findings.push(format!("{} names {name}", relative(&path)));
            }
        }
    }
    check("a field that the book names is one", &findings);
}

#[test]
fn plugin_files_of_documents_are_taken_and_refused_as_they_say() {
    // Documents next to the book don't mark theirs.
    let all: Vec<Block> = files(&root(), ".md").iter().flat_map(|path| blocks(path)).collect();
    let (mut taken, mut refused, mut findings) = (0, 0, Vec::new());
    for (index, Block { place, kind, text }) in all.iter().enumerate() {
        if kind == "yaml,plugins-refused" {
            refused += 1;
            let words =
                all.get(index + 1).filter(|next| next.kind == "text").map(|next| next.text.trim_end());
            let error = parsed(text).err().map(|error| one_line(&error));
            if error.is_none() || error.as_deref() != words {
                findings.push(format!("{place}: the parser says {error:?}, the document {words:?}"));
            }
        } else if kind == "yaml,plugins" || kind == "yaml" && text.contains("kind: PluginConfiguration") {
            taken += 1;
            findings.extend(parsed(text).err().map(|error| format!("{place}: {}", one_line(&error))));
        }
    }
    check("a plugin file in a document is what the document calls it", &findings);
    assert!(taken >= 10 && refused >= 5, "documents show {taken} good files and {refused} bad ones");
}

#[test]
fn pods_of_the_book_have_probes_that_can_be_followed() {
    let (mut tried, mut findings) = (0, Vec::new());
    for Block { place, text, .. } in all_blocks().into_iter().filter(|block| block.kind == "yaml,pod") {
        tried += 1;
        let pod: Result<Pod, _> = serde_saphyr::from_str(&text);
        match pod {
            Ok(pod) => findings
                .extend(desired_probes(&pod).problems.iter().map(|problem| format!("{place}: {problem}"))),
            Err(error) => findings.push(format!("{place}: {error}")),
        }
    }
    check("a pod in the book has nothing wrong with its annotations", &findings);
    assert!(tried >= 3, "the book shows {tried} pods");
}

#[test]
fn bounds_in_the_book_are_the_parsers() {
    let text = reference();
    let row = |field: &str| {
        let begin = format!("| `{field}` |");
        text.lines().find(|line| line.starts_with(&begin)).unwrap_or_default().to_owned()
    };
    let cases = [
        ("secrets", format!("at most {SECRETS_MAX}")),
        ("plugins", format!("at most {PLUGINS_MAX}")),
        ("plugins[].instances.warm.max", format!("1 to {WARM_MAX}")),
        ("plugins[].admission.match.exclude", format!("at most {EXCLUSIONS_MAX}")),
        ("plugins[].record.max", format!("1 to {RECORDS_MAX}")),
    ];
    for (field, words) in cases {
        assert!(row(field).contains(&words), "{field}: {words:?} isn't in {:?}", row(field));
    }
    assert!(text.contains(&format!("At most {GRANTS_MAX} of a kind")), "grants");
    assert!(text.contains(&format!("has at most {MATCH_ITEMS_MAX} items")), "matches");
}

#[test]
fn the_book_lists_every_feature_that_a_file_may_require() {
    let text = read(&root().join("docs/src/features.md"));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let books: Vec<(&str, &str)> =
        rows.map(|(name, rest)| (name, rest.trim_end().trim_end_matches('|').trim_end())).collect();
    let hosts: Vec<(&str, &str)> =
        FEATURES.iter().map(|feature| (feature.name, feature.description)).collect();
    assert_eq!(books, hosts);
}

#[test]
fn every_outcome_of_a_call_is_explained() {
    let text = read(&root().join("docs/src/watching.md"));
    let missing: Vec<String> = CallOutcome::ALL
        .into_iter()
        .map(|outcome| format!("`{}`", outcome.as_str()))
        .filter(|outcome| !text.contains(outcome))
        .collect();
    check("docs/src/watching.md explains each value of the label outcome", &missing);
}

/// All code of the host and of the plugins, for words that programs read.
fn code() -> String {
    let folders = [root().join("host"), root().join("plugins")];
    folders.iter().flat_map(|folder| files(folder, ".rs")).map(|path| read(&path)).collect()
}

#[test]
fn metrics_and_events_of_the_book_are_the_programs() {
    let (text, code) = (read(&root().join("docs/src/watching.md")), code());
    let is_metric = |name: &&str| ["witlet_", "kubelet_", "prober_"].iter().any(|of| name.starts_with(of));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let metrics: Vec<&str> = rows.filter(is_metric).collect();
    let events = text.split("## Events").nth(1).and_then(|rest| rest.split("## ").next()).unwrap_or_default();
    let events: Vec<String> = quoted(events).into_iter().filter(|name| !name.contains(' ')).collect();
    assert!(metrics.len() >= 10 && events.len() >= 15, "{metrics:?} {events:?}");
    let mut findings = Vec::new();
    for name in metrics.iter().copied().chain(events.iter().map(String::as_str)) {
        if !code.contains(&format!("\"{name}\"")) {
            findings.push(format!("{name} isn't in the code"));
        }
    }
    let written = read(&root().join("host/wasm/src/metrics/encode.rs"));
    for name in written.split('"').filter(|text| text.starts_with("witlet_plugin_")) {
        if !metrics.contains(&name) {
            findings.push(format!("{name} isn't in the book"));
        }
    }
    check("docs/src/watching.md and the code have the same metrics and events", &findings);
}

#[test]
fn the_parsers_fields_are_found_by_asking_it() {
    let top = known_at(&[]).expect("the file is a map");
    let expected =
        "apiVersion kind requires secrets pullCredentials requireConformance requireSignature decisionLog plugins".split(' ');
    assert!(top.iter().map(String::as_str).eq(expected), "{top:?}");
    assert_eq!(known_at(&["kind".to_owned()]), None, "a text has no fields");
    let config: Vec<String> = ["plugins[]", "config"].map(str::to_owned).into();
    assert_eq!(known_at(&config), None, "what a plugin takes is its own");
}
