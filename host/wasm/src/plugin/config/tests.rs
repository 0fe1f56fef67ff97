//! What the configuration may say, and how it is reported when it says something else.

mod book;
mod data;
mod features;
mod matches;
mod rollout;
mod shadow;
mod values;

use expect_test::{Expect, expect};

use witlet_core::admission::chain::FailurePolicy;
use witlet_core::sources::pod_security::SecurityLevel;
use witlet_egress::NetworkGrant;

use super::*;
use crate::plugin::{Criteria, PodMatch};
use crate::record::RecordTrigger;

fn file(entries: &str) -> String {
    format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n{entries}")
}

const SHIPPED: Shipped<'_> = Shipped {
    reserved: &["host-ports"],
    probe_types: &["exec", "httpGet"],
    components: &["compose", "redis"],
};

fn error(text: &str) -> String {
    match parse(text, SHIPPED) {
        Ok(taken) => panic!("taken: {taken:?}"),
        Err(error) => error.to_string(),
    }
}

fn one(entry: &str) -> PluginEntry {
    let taken = parse(&file(entry), SHIPPED).unwrap_or_else(|error| panic!("{error}"));
    taken.plugins.into_iter().next().expect("one entry")
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(error(text).lines().next().unwrap_or_default());
}

const EXAMPLE: &str = r#"
apiVersion: witlet.dev/v1alpha1
kind: PluginConfiguration
secrets:
  - {name: redis-password, file: secrets/redis}
pullCredentials: registry.json
plugins:
  - name: no-latest-tag
    component: ./no-latest-tag.wasm
    admission: {order: 7, failurePolicy: Reject, mode: shadow, loadTimeout: 30s, recheck: 10m, match: {namespaces: ["team-*"]}}
    limits: {timeout: 500ms, memory: 32Mi}
    record: {max: 20, on: [reject, differ]}
    config: {allowedRegistries: ["registry.example.com"]}
  - name: redis-fast
    component: oci://registry.example.com/probes/redis:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    probe: {type: redis}
    limits: {memory: 8Mi}
    instances: {warm: {max: 4, uses: 10, idle: 1m}}
    grants: {network: [pod, "10.0.0.0/8:6379"], secrets: [redis-password], tls: insecure, exec: true}
  - name: compose
    component: builtin:compose
    podSource: {interval: 5s, allow: {namespaces: [edge], namePrefix: c-, podSecurity: restricted, maxPods: 3}}
    grants: {files: [{path: /etc/witlet/compose, guestPath: /compose}, {path: /var/edge, readOnly: false}], state: true}
"#;

#[test]
fn the_example_of_the_design_is_taken() {
    let taken = parse(EXAMPLE, SHIPPED).unwrap_or_else(|error| panic!("{error}"));
    let [secret] = &taken.secrets[..] else { panic!("{taken:?}") };
    assert_eq!((&*secret.name, &*secret.file), ("redis-password", std::path::Path::new("secrets/redis")));
    let [tag, redis, compose] = &taken.plugins[..] else { panic!("{taken:?}") };
    let namespaces = Some(Globs::new(vec!["team-*".to_owned()]));
    let criteria = Criteria { namespaces, ..Criteria::default() };
    let admission = AdmissionRole {
        order: 7,
        failure_policy: FailurePolicy::Reject,
        mode: AdmissionMode::Shadow,
        shadow_of: None,
        load_timeout: Duration::from_secs(30),
        recheck: Some(Duration::from_secs(600)),
        rollout: None,
        matches: PodMatch { criteria, ..PodMatch::default() },
        timeout: Duration::from_millis(500),
        memory_bytes: 32 << 20,
    };
    assert_eq!(tag.admission, Some(admission));
    let recording = Recording { max: 20, on: [RecordTrigger::Reject, RecordTrigger::Differ].into() };
    assert_eq!((&tag.record, &tag.grants), (&Some(recording), &Grants::default()));
    assert_eq!(tag.config, serde_json::json!({"allowedRegistries": ["registry.example.com"]}));

    assert_eq!(
        redis.probe,
        Some(ProbeRole { probe_type: "redis".into(), shadow_of: None, memory_bytes: 8 << 20 })
    );
    assert_eq!(redis.warm, Some(Warm { max: 4, uses: 10, idle: Duration::from_secs(60) }));
    assert_eq!(redis.grants.names(), ["network", "secrets", "exec", "tls"]);
    assert_eq!(redis.grants.network[0], NetworkGrant::Pod);
    let ComponentSource::Registry { reference, credentials } = &redis.component else { panic!("{redis:?}") };
    assert_eq!(reference.name(), "registry.example.com/probes/redis");
    assert_eq!(credentials.as_deref(), Some(std::path::Path::new("registry.json")), "those for all");

    let source = compose.pod_source.as_ref().expect("it is one");
    assert_eq!((source.interval, source.timeout), (Duration::from_secs(5), Duration::from_secs(30)));
    assert_eq!((source.memory_bytes, source.allow.pods_max), (64 << 20, 3));
    assert_eq!(source.allow.namespaces, ["edge"]);
    assert_eq!(source.allow.name_prefix.as_deref(), Some("c-"));
    assert_eq!(source.allow.pod_security, SecurityLevel::Restricted);
    assert_eq!(compose.component, ComponentSource::Shipped("compose".to_owned()));
    let folder = |path: &str, read_only, guest_path: &str| FileGrant {
        path: path.into(),
        read_only,
        guest_path: guest_path.to_owned(),
    };
    let folders = [folder("/etc/witlet/compose", true, "/compose"), folder("/var/edge", false, "/var/edge")];
    assert_eq!(compose.grants.files, folders);
    assert!(compose.grants.state);
}

#[test]
fn an_entry_that_says_nothing_gets_the_defaults() {
    let expected = PluginEntry {
        name: "a".to_owned(),
        component: ComponentSource::File("a.wasm".into()),
        conformance: None,
        admission: Some(AdmissionRole {
            order: 100,
            failure_policy: FailurePolicy::Defer,
            mode: AdmissionMode::Enforce,
            shadow_of: None,
            load_timeout: Duration::from_secs(10),
            recheck: None,
            rollout: None,
            matches: PodMatch::default(),
            timeout: Duration::from_millis(100),
            memory_bytes: 16 << 20,
        }),
        probe: None,
        pod_source: None,
        warm: None,
        grants: Grants::default(),
        data: Vec::new(),
        record: None,
        config: Value::Null,
    };
    assert_eq!(one("- {name: a, component: a.wasm, admission: {}}"), expected);
    assert!(expected.grants.names().is_empty(), "nothing is granted by default");
    let probe = one("- {name: ping, component: a.wasm, probe: {}}").probe.expect("it is one");
    assert_eq!((&*probe.probe_type, probe.memory_bytes), ("ping", 16 << 20), "the type is the plugin's name");
    let source = one("- {name: s, component: a.wasm, podSource: {allow: {namespaces: ['*']}}}").pod_source;
    let source = source.expect("it is one");
    assert_eq!((source.interval, source.allow.pods_max), (Duration::from_secs(10), 110));
    assert_eq!(source.allow.pod_security, SecurityLevel::Baseline);
}

#[test]
fn one_entry_may_have_all_roles() {
    let entry = one(
        "- {name: all, component: a.wasm, admission: {}, probe: {}, podSource: {allow: {namespaces: [a]}}, \
         limits: {timeout: 2s, memory: 20Mi}}",
    );
    let (admission, source) = (entry.admission.expect("named"), entry.pod_source.expect("named"));
    assert_eq!((admission.timeout, source.timeout), (Duration::from_secs(2), Duration::from_secs(2)));
    assert_eq!((admission.memory_bytes, source.memory_bytes), (20 << 20, 20 << 20));
    assert_eq!(entry.probe.expect("named").memory_bytes, 20 << 20);
}

#[test]
fn a_file_without_plugins_is_taken() {
    for text in ["apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\n", &file("  []\n")] {
        assert_eq!(parse(text, SHIPPED), Ok(PluginConfiguration::default()), "{text}");
    }
}

/// Each of these lists of entries is refused in words that begin so.
fn all_reported(cases: &[(&str, &str)]) {
    for (entries, words) in cases {
        let reported = error(&file(entries));
        assert!(reported.starts_with(words), "{reported:?} doesn't begin with {words:?}");
    }
}

#[test]
fn wrong_values_of_roles_are_reported_with_their_field_and_the_way_out() {
    let allow = "allow: {namespaces: [a]}";
    let cases = [
        ("- {name: a, component: a.wasm}", "plugins[0]: must have a role: `admission: {}`"),
        (
            "- {name: a, component: a.wasm, podSource: {interval: 10s}}",
            "plugins[0].podSource.allow.namespaces: a pod source is as powerful as its pods: name the namespaces",
        ),
        (
            "- {name: a, component: a.wasm, podSource: {allow: {namespaces: []}}}",
            "plugins[0].podSource.allow.namespaces: ",
        ),
        (
            "- {name: a, component: a.wasm, podSource: {allow: {namespaces: [a], podSecurity: none}}}",
            "plugins[0].podSource.allow.podSecurity: must be privileged, baseline or restricted, found \"none\"",
        ),
        (
            "- {name: a, component: a.wasm, podSource: {allow: {namespaces: [a], maxPods: 0}}}",
            "plugins[0].podSource.allow.maxPods: must be between 1 and 1000, found 0",
        ),
        (
            &format!("- {{name: a, component: a.wasm, podSource: {{interval: 500ms, {allow}}}}}"),
            "plugins[0].podSource.interval: must be between 1s and 24h, found 500ms",
        ),
        (
            &format!("- {{name: file, component: a.wasm, podSource: {{{allow}}}}}"),
            "plugins[0].name: \"file\" is reserved for a built-in source",
        ),
        (
            &format!("- {{name: a, component: a.wasm, podSource: {{{allow}}}, limits: {{timeout: 10m}}}}"),
            "plugins[0].limits.timeout: must be between 1ms and 300s for a pod source, found 600s",
        ),
        (
            &format!(
                "- {{name: a, component: a.wasm, admission: {{}}, podSource: {{{allow}}}, limits: {{timeout: 1m}}}}"
            ),
            "plugins[0].limits.timeout: must be between 1ms and 10s for an admission handler, found 60s",
        ),
        (
            "- {name: a, component: a.wasm, probe: {}, limits: {timeout: 1s}}",
            "plugins[0].limits.timeout: must not be set for a probe type: the timeout is the probe's timeoutSeconds",
        ),
        (
            "- {name: a, component: a.wasm, probe: {type: httpGet}}",
            "plugins[0].probe.type: \"httpGet\" must have at most 63 lower-case letters, digits and `-`",
        ),
        (
            "- {name: exec, component: a.wasm, probe: {}}",
            "plugins[0].probe.type: exec is the probe type of a built-in plugin",
        ),
        (
            "- {name: a, component: a.wasm, probe: {}}\n- {name: b, component: a.wasm, probe: {type: a}}",
            "plugins[1].probe.type: \"a\" is already the probe type of another entry: take another",
        ),
    ];
    all_reported(&cases);
}

#[test]
fn wrong_values_of_handlers_are_reported_with_their_field_and_the_way_out() {
    let cases = [
        (
            "- {name: a, component: a.wasm, admission: {mode: audit}}",
            "plugins[0].admission.mode: must be `enforce` or `shadow`, found \"audit\"",
        ),
        (
            "- {name: a, component: a.wasm, admission: {match: {namespaces: []}}}",
            "plugins[0].admission.match.namespaces: must not be empty",
        ),
        (
            "- {name: a, component: a.wasm, admission: {loadTimeout: 1h}}",
            "plugins[0].admission.loadTimeout: must be between 0ms and 600s, found 1h",
        ),
        (
            "- {name: a, component: a.wasm, admission: {recheck: 5s}}",
            "plugins[0].admission.recheck: must be between 60s and 24h, found 5s",
        ),
    ];
    all_reported(&cases);
}

#[test]
fn wrong_values_of_entries_are_reported_with_their_field_and_the_way_out() {
    let cases = [
        (
            "- {name: a, component: 'oci://registry.example.com/a@sha256:0', admission: {}}",
            "plugins[0].component: \"oci://registry.example.com/a@sha256:0\": the digest must be",
        ),
        (
            "- {name: a, component: 'oci://registry.example.com/a:1', admission: {}}",
            "plugins[0].component: \"oci://registry.example.com/a:1\": the digest is missing: add @sha256:",
        ),
        (
            "- {name: a, component: 'https://example.com/a.wasm', admission: {}}",
            "plugins[0].component: https:// isn't known: write a path, builtin:NAME or oci://",
        ),
        (
            "- {name: a, component: 'builtin:nothing', admission: {}}",
            "plugins[0].component: no built-in plugin \"nothing\"; expected one of compose, redis",
        ),
        (
            "- {name: a, component: 'builtin:postgres-ready', probe: {}}",
            "plugins[0].component: \"postgres-ready\" is no longer built in: build it in examples/plugins/rust/postgres-ready and name \
             its file, ./postgres-ready.wasm; shipped are: compose, redis",
        ),
        (
            "- {name: a, component: a.wasm, pullCredentials: c.json, admission: {}}",
            "plugins[0].pullCredentials: only allowed for components from registries (oci://): remove it",
        ),
        ("- {name: a, component: '', admission: {}}", "plugins[0].component: must not be empty"),
        ("- {name: 'A b', component: a.wasm, admission: {}}", "plugins[0].name: \"A b\" must have"),
        (
            "- {name: host-ports, component: a.wasm, admission: {}}",
            "plugins[0].name: host-ports is the name of a built-in plugin",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}}\n- {name: a, component: b.wasm, admission: {}}",
            "plugins[1].name: \"a\" is already the name of another entry: take another",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, limits: {timeout: 1h}}",
            "plugins[0].limits.timeout: must be between 1ms and 10s for an admission handler, found 1h",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, limits: {memory: 1Gi}}",
            "plugins[0].limits.memory: 1Gi must be at least 1 byte and at most 128Mi",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, instances: {warm: {max: 0}}}",
            "plugins[0].instances.warm.max: must be between 1 and 16, found 0",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, instances: {warm: {max: 1, uses: 0}}}",
            "plugins[0].instances.warm.uses: 0 uses",
        ),
        (
            "- {name: a, component: a.wasm, admission: {}, record: {max: 0}}",
            "plugins[0].record.max: must be between 1 and 1000, found 0",
        ),
    ];
    all_reported(&cases);
}

#[test]
fn a_grant_that_could_not_take_effect_is_refused() {
    let cases = [
        ("admission: {}", "network: [pod]", ".network: only allowed for a probe type or a pod source"),
        ("admission: {}", "tls: insecure", ".tls: only allowed for a probe type or a pod source"),
        ("admission: {}", "exec: true", ".exec: only allowed for a probe type"),
        ("probe: {}", "state: true", ".state: only allowed for a pod source"),
        ("probe: {}", "files: [{path: /a}]", ".files: only allowed for a pod source"),
        ("probe: {}", "tls: insecure", ".tls: requires `network`"),
        ("probe: {}", "network: [pod], tls: never", ".tls: must be `verify` or `insecure`, found \"never\""),
        ("probe: {}", "network: [everywhere]", ".network[0]: \"everywhere\": "),
        ("probe: {}", "secrets: [unknown]", ".secrets[0]: \"unknown\" isn't among `secrets:` of the file"),
        (
            "podSource: {allow: {namespaces: [a]}}",
            "network: [pod]",
            ".network[0]: \"pod\" is for probe types",
        ),
        ("podSource: {allow: {namespaces: [a]}}", "exec: true", ".exec: only allowed for a probe type"),
        (
            "podSource: {allow: {namespaces: [a]}}",
            "files: [{path: etc}]",
            ".files[0].path: must be an absolute path without `..`, found \"etc\"",
        ),
        (
            "podSource: {allow: {namespaces: [a]}}",
            "files: [{path: /a/../b}]",
            ".files[0].path: must be an absolute path without `..`, found \"/a/../b\"",
        ),
        (
            "podSource: {allow: {namespaces: [a]}}",
            "files: [{path: /a, guestPath: b}]",
            ".files[0].guestPath: must be an absolute path without `..`, found \"b\"",
        ),
        (
            "podSource: {allow: {namespaces: [a]}}",
            "files: [{path: /a}, {path: /b, guestPath: /a}]",
            ".files[1].guestPath: /a is taken by another grant",
        ),
        (
            "podSource: {allow: {namespaces: [a]}}",
            "files: [{path: /a, guestPath: /state/}], state: true",
            ".files[0].guestPath: /state is the plugin's own folder",
        ),
    ];
    for (role, grants, words) in cases {
        let reported =
            error(&file(&format!("- {{name: a, component: a.wasm, {role}, grants: {{{grants}}}}}")));
        let expected = format!("plugins[0].grants{words}");
        assert!(reported.starts_with(&expected), "{reported:?} doesn't begin with {expected:?}");
    }
    let taken =
        one("- {name: a, component: a.wasm, admission: {}, probe: {}, grants: {network: [pod], exec: true}}");
    assert_eq!(taken.grants.names(), ["network", "exec"], "for its other role");
}

#[test]
fn wrong_secrets_are_reported_with_their_field() {
    let with = |secrets: &str| {
        error(&format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nsecrets: {secrets}\n"))
    };
    let cases = [
        ("[{name: 'A', file: a}]", "secrets[0].name: \"A\" must have at most 63 lower-case letters"),
        ("[{name: a, file: a}, {name: a, file: b}]", "secrets[1].name: \"a\" is already the name of another"),
        ("[{name: a, file: ''}]", "secrets[0].file: must not be empty"),
    ];
    for (secrets, words) in cases {
        let reported = with(secrets);
        assert!(reported.starts_with(words), "{reported:?} doesn't begin with {words:?}");
    }
}

#[test]
fn what_does_not_parse_is_reported_with_its_line() {
    for (text, words) in [
        (
            file("- {name: a, component: a.wasm, admission: {}, colour: red}"),
            ["unknown field", "plugins[0].colour: ", "line 4"],
        ),
        (
            file("- {name: a, component: a.wasm, admission: {order: x}}"),
            ["line 4, column 51: ", "plugins[0].admission.order: ", "expected a whole number, found x"],
        ),
        (
            file("- {name: a, component: [b], admission: {}}"),
            ["line 4", "plugins[0].component: ", "expected a string, found a list"],
        ),
        (
            file("- {name: a, component: a.wasm, admission: {}, limits: {timeout: 5}}"),
            ["line 4", "plugins[0].limits.timeout: ", "expected a duration such as 500ms or 2s, found \"5\""],
        ),
        (
            file("- {name: a, component: a.wasm, admission: {}, limits: {memory: lots}}"),
            ["line 4, column 64: plugins[0].limits.memory: ", "lots", "suffix"],
        ),
        (file("- {name: a, name: b, component: a.wasm}"), ["line 4", "duplicate", "name"]),
        (file("- {component: a.wasm}"), ["missing field", "name", "line 4"]),
        ("apiVersion: [".to_owned(), ["line 1, column 13", "expected", "string"]),
    ] {
        let reported = error(&text);
        assert!(reported.starts_with("line ") && !reported.contains('\n'), "it is one line: {reported:?}");
        for word in words {
            assert!(reported.contains(word), "{word:?} isn't in {reported:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_shown_up_to_a_length() {
    let long = "x".repeat(100_000);
    for text in [
        format!("{long}: 1"),
        file(&format!("- {{name: a, component: a.wasm, admission: {{}}, {long}: 1}}")),
        file(&format!("- {{name: {long}, component: a.wasm, admission: {{}}}}")),
        file(&format!("- {{name: a, component: \"oci://{long}\", admission: {{}}}}")),
    ] {
        let reported = error(&text);
        assert!(reported.len() <= WORDS_BYTES_MAX + 100, "{} bytes: {reported:.200}", reported.len());
    }
}

#[test]
fn other_kinds_of_files_are_refused() {
    check(
        "apiVersion: v1\nkind: PluginConfiguration\n",
        &expect![[r#"apiVersion: must be "witlet.dev/v1alpha1", found "v1""#]],
    );
    check(
        "apiVersion: witlet.dev/v1alpha1\nkind: Pod\n",
        &expect![[r#"kind: must be "PluginConfiguration", found "Pod""#]],
    );
    check(" \n", &expect!["the file is empty"]);
    let large = file(&"# a comment\n".repeat(100_000));
    check(&large, &expect!["the file has more than 1048576 bytes"]);
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "\\PC{0,200}") {
        let parsed = parse(&text, SHIPPED);
        proptest::prop_assert!(parsed.is_err() || parsed.is_ok_and(|taken| taken.plugins.is_empty()));
    }
}
