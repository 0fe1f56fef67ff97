//! Entries that take another's place by degrees.

use witlet_core::admission::rollout::{ErrorBudget, RolloutPolicy};

use super::*;

const OLD: &str = "- {name: old, component: a.wasm, admission: {order: 7}}\n";

fn new(rollout: &str) -> String {
    format!("- {{name: new, component: b.wasm, admission: {{rollout: {{{rollout}}}}}}}\n")
}

fn taken(entries: &str) -> Vec<PluginEntry> {
    parse(&file(entries), SHIPPED).unwrap_or_else(|error| panic!("{entries}: {error}")).plugins
}

fn role(entry: &PluginEntry) -> RolloutRole {
    let rollout = entry.admission.as_ref().and_then(|admission| admission.rollout.clone());
    rollout.expect("it takes another's place")
}

/// That of the second entry.
fn policy(rollout: &str) -> RolloutPolicy {
    role(&taken(&format!("{OLD}{}", new(rollout)))[1]).policy
}

#[test]
fn a_rollout_that_says_little_gets_the_defaults() {
    let entries = taken(&format!("{OLD}{}", new("of: old, percent: 20")));
    let rollout = role(&entries[1]);
    assert_eq!((&*rollout.of, &rollout.labels), ("old", &None));
    let budget = ErrorBudget { max_errors: None, max_error_percent: 1, min_calls: 20, max_differences: None };
    assert_eq!(rollout.policy, RolloutPolicy { percent: 20, step_percent: 100, soak: None, budget });
    let orders = entries.iter().map(|entry| entry.admission.as_ref().map(|admission| admission.order));
    assert_eq!(orders.collect::<Vec<_>>(), [Some(7), Some(7)], "it has the place of what it replaces");
}

#[test]
fn a_rollout_that_says_all_has_it() {
    let all = policy(
        "of: old, percent: 0, labelSelector: {matchLabels: {track: canary}}, soak: 30m, stepPercent: 25, \
         errorBudget: {maxErrorPercent: 0, maxErrors: 3, minCalls: 500, maxDifferences: 0}",
    );
    let budget =
        ErrorBudget { max_errors: Some(3), max_error_percent: 0, min_calls: 500, max_differences: Some(0) };
    let soak = Some(Duration::from_secs(1800));
    assert_eq!(all, RolloutPolicy { percent: 0, step_percent: 25, soak, budget });
    assert_eq!(policy("of: old, labelSelector: {matchLabels: {track: canary}}").percent, 0);
    assert_eq!(policy("of: old, percent: 100, soak: 0s").soak, Some(Duration::ZERO));
}

#[test]
fn rollouts_that_cannot_be_are_refused_with_the_way_out() {
    let selector = "labelSelector: {matchLabels: {track: canary}}";
    let cases = [
        ("percent: 20".to_owned(), ".of: must not be empty: name the entry to replace"),
        (
            "of: gone, percent: 20".to_owned(),
            ".of: no other entry has the name \"gone\": name the entry to replace",
        ),
        (
            "of: host-ports, percent: 20".to_owned(),
            ".of: no other entry has the name \"host-ports\": name the entry to replace",
        ),
        ("of: new, percent: 20".to_owned(), ".of: \"new\" is this entry: name the entry to replace"),
        (
            "of: ping, percent: 20".to_owned(),
            ".of: \"ping\" is not an admission handler: name one to replace",
        ),
        (
            "of: dark, percent: 20".to_owned(),
            ".of: \"dark\" is a shadow and judges no pods: name an entry with `mode: enforce`",
        ),
        (
            "of: old".to_owned(),
            ".percent: must be 1 to 100, the percentage of pods, unless `labelSelector` is set",
        ),
        (
            "of: old, percent: 0".to_owned(),
            ".percent: 0 without `labelSelector`, so that it would judge no pod: write 1 to 100, or `mode: shadow` in place of `rollout`",
        ),
        ("of: old, percent: -1".to_owned(), ".percent: must be between 0 and 100, found -1"),
        ("of: old, percent: 101".to_owned(), ".percent: must be between 0 and 100, found 101"),
        (format!("of: old, percent: 300, {selector}"), ".percent: must be between 0 and 100, found 300"),
        (
            "of: old, labelSelector: {}".to_owned(),
            ".labelSelector: must have at least one label: remove it to select every pod",
        ),
        (
            "of: old, percent: 1, stepPercent: 5".to_owned(),
            ".stepPercent: requires `soak`: set it, or remove this",
        ),
        (
            "of: old, percent: 1, soak: 1m, stepPercent: 0".to_owned(),
            ".stepPercent: must be between 1 and 100, found 0",
        ),
        ("of: old, percent: 1, soak: 169h".to_owned(), ".soak: must be between 0ms and 168h, found 169h"),
        (
            "of: old, percent: 1, errorBudget: {maxErrorPercent: 101}".to_owned(),
            ".errorBudget.maxErrorPercent: must be between 0 and 100, found 101",
        ),
        (
            "of: old, percent: 1, errorBudget: {minCalls: 0}".to_owned(),
            ".errorBudget.minCalls: must be between 1 and 1000000, found 0",
        ),
    ];
    let others = format!(
        "{OLD}- {{name: ping, component: p.wasm, probe: {{}}}}\n- {{name: dark, component: a.wasm, admission: {{mode: shadow}}}}\n"
    );
    for (rollout, expected) in cases {
        let entries = format!("{others}{}", new(&rollout));
        assert_eq!(error(&file(&entries)), format!("plugins[3].admission.rollout{expected}"), "{rollout}");
    }
}

#[test]
fn entries_that_contradict_their_rollout_are_refused() {
    let entry = |name: &str, of: &str, more: &str| {
        format!(
            "- {{name: {name}, component: b.wasm, admission: {{rollout: {{of: {of}, percent: 1}}{more}}}}}\n"
        )
    };
    let cases = [
        (
            format!("{OLD}{}", entry("new", "old", ", mode: shadow")),
            "plugins[1].admission.rollout: must not be set with `mode: shadow`: a shadow judges no pods",
        ),
        (
            format!("{OLD}{}", entry("new", "old", ", order: 7")),
            "plugins[1].admission.order: must not be set with `rollout`: the order is that of the replaced entry",
        ),
        (
            format!("{OLD}{}{}", entry("one", "old", ""), entry("two", "old", "")),
            "plugins[2].admission.rollout.of: \"old\" is already being replaced by \"one\": finish that rollout first",
        ),
        (
            format!("{OLD}{}{}", entry("one", "old", ""), entry("two", "one", "")),
            "plugins[2].admission.rollout.of: \"one\" is being rolled out itself: finish that rollout first",
        ),
        (
            entry("one", "two", "") + &entry("two", "one", ""),
            "plugins[0].admission.rollout.of: \"two\" is being rolled out itself: finish that rollout first",
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(error(&file(&entries)), expected, "{entries}");
    }
}

#[test]
fn an_entry_that_is_skipped_has_no_successor() {
    let skipped =
        "- {name: old, component: a.wasm, requires: [time-travel], optional: true, admission: {}}\n";
    assert_eq!(
        error(&file(&format!("{skipped}{}", new("of: old, percent: 1")))),
        "plugins[1].admission.rollout.of: no other entry has the name \"old\": name the entry to replace"
    );
}

#[test]
fn the_digest_of_an_entry_is_of_what_it_says_and_not_of_how() {
    let skipped = "- {name: later, requires: [time-travel], optional: true, new: 1}\n";
    let digest = |text: &str| role(taken(text).last().expect("the entry")).entry_digest.to_string();
    let first = digest(&format!("{OLD}{}", new("of: old, percent: 20")));
    assert_eq!(first.len(), 64);
    let same = [
        format!("{skipped}{OLD}{}", new("of: old, percent: 20")),
        format!("{OLD}# why\n{}", new("percent: 20, of: 'old'")),
        "- {name: old, component: other.wasm, admission: {}}\n- name: new\n  component: b.wasm\n  admission:\n    rollout:\n      of: old\n      percent: 20\n".to_owned(),
    ];
    for text in same {
        assert_eq!(digest(&text), first, "{text}");
    }
    let others = [
        new("of: old, percent: 21"),
        new("of: old, percent: 20, soak: 1m"),
        "- {name: new, component: c.wasm, admission: {rollout: {of: old, percent: 20}}}\n".to_owned(),
        "- {name: new, component: b.wasm, config: 1, admission: {rollout: {of: old, percent: 20}}}\n"
            .to_owned(),
    ];
    for text in others {
        assert_ne!(digest(&format!("{OLD}{text}")), first, "{text}");
    }
}
