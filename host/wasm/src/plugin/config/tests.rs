//! What the configuration may say, and how it is told when it says something else.

use expect_test::{Expect, expect};

use super::*;

fn file(entries: &str) -> String {
    format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n{entries}")
}

fn error(text: &str) -> String {
    match parse(text, &["host-ports"]) {
        Ok(entries) => panic!("taken: {entries:?}"),
        Err(error) => error.to_string(),
    }
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(error(text).lines().next().unwrap_or_default());
}

#[test]
fn the_example_of_the_design_is_taken() {
    let entries = parse(
        &file(
            r#"
  - name: no-latest-tag
    component: ./no-latest-tag.wasm
    admission: {order: 7, failurePolicy: Reject, mode: enforce, match: {namespaces: ["team-*"]}}
    limits: {timeout: 500ms, memory: 32Mi}
    instances: {warm: {max: 4, uses: 10, idle: 1m}}
    config: {allowedRegistries: ["registry.example.com"]}
"#,
        ),
        &[],
    )
    .expect("taken");
    let expected = PluginEntry {
        name: "no-latest-tag".to_owned(),
        component: "./no-latest-tag.wasm".to_owned(),
        order: 7,
        failure_policy: FailurePolicy::Reject,
        namespaces: Globs::new(vec!["team-*".to_owned()]),
        timeout: Duration::from_millis(500),
        memory_bytes: 32 << 20,
        warm: Some(Warm { max: 4, uses: 10, idle: Duration::from_secs(60) }),
        config: serde_json::json!({"allowedRegistries": ["registry.example.com"]}),
    };
    assert_eq!(entries, [expected]);
}

#[test]
fn an_entry_that_says_nothing_gets_the_defaults() {
    let entries = parse(&file("- {name: a, component: a.wasm, admission: {}}"), &[]).expect("taken");
    let expected = PluginEntry {
        name: "a".to_owned(),
        component: "a.wasm".to_owned(),
        order: 100,
        failure_policy: FailurePolicy::Defer,
        namespaces: Globs::all(),
        timeout: Duration::from_millis(100),
        memory_bytes: 16 << 20,
        warm: None,
        config: Value::Null,
    };
    assert_eq!(entries, [expected]);
}

#[test]
fn a_file_without_plugins_is_taken() {
    for text in ["apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\n", &file("  []\n")] {
        assert_eq!(parse(text, &[]), Ok(Vec::new()), "{text}");
    }
}

#[test]
fn wrong_values_are_told_with_their_field() {
    let cases = [
        ("- {name: a, component: a.wasm}", "plugins[0]: no role: write `admission: {}`"),
        (
            "- {name: a, component: a.wasm, admission: {}, probe: {}}",
            "plugins[0].probe: this release doesn't have it",
        ),
        (
            "- {name: a, component: a.wasm, podSource: {interval: 10s}}",
            "plugins[0].podSource: this release doesn't have it",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, grants: {network: [pod]}}",
            "plugins[0].grants: this release doesn't have it",
        ),
        (
            "- {name: a, component: a.wasm, admission: {mode: shadow}}",
            "plugins[0].admission.mode: this release doesn't have `shadow`",
        ),
        (
            "- {name: a, component: a.wasm, admission: {mode: audit}}",
            "plugins[0].admission.mode: \"audit\" isn't `enforce`",
        ),
        (
            "- {name: a, component: a.wasm, admission: {match: {namespaces: []}}}",
            "plugins[0].admission.match.namespaces: the list is empty",
        ),
        (
            "- {name: a, component: 'oci://registry.example.com/a@sha256:0', admission: {}}",
            "plugins[0].component: this release doesn't have `oci://`",
        ),
        ("- {name: a, component: '', admission: {}}", "plugins[0].component: no path"),
        ("- {name: 'A b', component: a.wasm, admission: {}}", "plugins[0].name: \"A b\" isn't a name"),
        (
            "- {name: host-ports, component: a.wasm, admission: {}}",
            "plugins[0].name: host-ports is the name of a built-in plugin",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}}\n- {name: a, component: b.wasm, admission: {}}",
            "plugins[1].name: a is the name of another plugin too",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, limits: {timeout: 1h}}",
            "plugins[0].limits.timeout: 3600s isn't between 1ms and 10s",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, limits: {memory: 1Gi}}",
            "plugins[0].limits.memory: 1073741824 bytes aren't between 1 and 134217728 (128Mi)",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, instances: {warm: {max: 0}}}",
            "plugins[0].instances.warm.max: 0 isn't between 1 and 16",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, instances: {warm: {max: 1, uses: 0}}}",
            "plugins[0].instances.warm.uses: 0 uses",
        ),
    ];
    for (entries, words) in cases {
        let told = error(&file(entries));
        assert!(told.starts_with(words), "{told:?} doesn't begin with {words:?}");
    }
}

#[test]
fn what_does_not_parse_is_told_with_its_line() {
    for (text, words) in [
        (
            file("- {name: a, component: a.wasm, admission: {}, colour: red}"),
            ["unknown field", "colour", "line 4"],
        ),
        (file("- {name: a, component: a.wasm, admission: {order: x}}"), ["line 4", "order", "x"]),
        (
            file("- {name: a, component: a.wasm, admission: {}, limits: {timeout: 5}}"),
            ["line 4", "no duration", "5"],
        ),
        (
            file("- {name: a, component: a.wasm, admission: {}, limits: {memory: lots}}"),
            ["line 4", "lots", "memory"],
        ),
        (file("- {name: a, name: b, component: a.wasm}"), ["line 4", "duplicate", "name"]),
        (file("- {component: a.wasm}"), ["missing field", "name", "line 4"]),
        ("apiVersion: [".to_owned(), ["line", "1", "["]),
    ] {
        let told = error(&text);
        for word in words {
            assert!(told.contains(word), "{word:?} isn't in {told:?}");
        }
    }
}

#[test]
fn other_kinds_of_files_are_refused() {
    check(
        "apiVersion: v1\nkind: PluginConfiguration\n",
        &expect![[r#"apiVersion: "v1" isn't "witlet.dev/v1alpha1""#]],
    );
    check(
        "apiVersion: witlet.dev/v1alpha1\nkind: Pod\n",
        &expect![[r#"kind: "Pod" isn't "PluginConfiguration""#]],
    );
    let large = file(&"# a comment\n".repeat(100_000));
    check(&large, &expect!["the file has more than 1048576 bytes"]);
}

#[test]
fn durations_have_one_number_and_one_unit() {
    let cases = [
        ("500ms", Some(500)),
        ("1.5s", Some(1500)),
        ("2m", Some(120_000)),
        ("1h", Some(3_600_000)),
        ("5", None),
        ("s", None),
        ("1s500ms", None),
        ("-1s", None),
        ("1e9s", None),
        ("1 s", None),
        ("", None),
        ("1..2s", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_duration(text), expected.map(Duration::from_millis), "{text}");
    }
}

#[test]
fn globs_match_whole_names() {
    let cases = [
        ("*", "anything", true),
        ("*", "", true),
        ("prod", "prod", true),
        ("prod", "production", false),
        ("team-*", "team-a", true),
        ("team-*", "team-", true),
        ("team-*", "a-team-b", false),
        ("*-dev", "web-dev", true),
        ("*-dev", "web-dev-2", false),
        ("a*c", "abc", true),
        ("a*c", "ac", true),
        ("a*a", "a", false),
        ("a*b*c", "a-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("**", "x", true),
        ("", "", true),
        ("", "x", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(Globs::new(vec![pattern.to_owned()]).matches(name), expected, "{pattern} on {name}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "\\PC{0,200}") {
        let parsed = parse(&text, &[]);
        proptest::prop_assert!(parsed.is_err() || parsed.is_ok_and(|entries| entries.is_empty()));
    }

    #[test]
    fn a_prefix_with_a_star_matches_what_it_begins(prefix in "[a-z-]{0,8}", rest in "[a-z-]{0,8}") {
        let (pattern, name) = (prefix.clone() + "*", prefix + &rest);
        proptest::prop_assert!(glob(&pattern, &name));
    }
}
