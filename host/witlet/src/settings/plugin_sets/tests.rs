//! What the file may say.

use super::*;

fn file(rest: &str) -> String {
    format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginSetPolicy\n{rest}")
}

#[test]
fn a_policy_has_repositories_keys_and_a_jitter() {
    let policy = parse(&file("repositories: [registry.example.com/fleet/*]\nkeys: [/etc/witlet/sets.pub]\n"));
    let expected = PluginSetPolicy {
        sets: SetPolicy {
            repositories: vec!["registry.example.com/fleet/*".to_owned()],
            jitter: JITTER_DEFAULT,
        },
        keys: vec!["/etc/witlet/sets.pub".into()],
        pull_credentials: None,
        uses_compiled_code: false,
    };
    assert_eq!(policy, Ok(expected));
    let rest = "repositories: ['127.0.0.1:5000/a']\nkeys: [a]\njitter: 1h30m\npullCredentials: r.json";
    let policy = parse(&file(rest)).expect("taken");
    assert_eq!(policy.sets.jitter, Duration::from_secs(5400));
    assert_eq!(policy.pull_credentials, Some("r.json".into()));
}

#[test]
fn compiled_code_runs_only_where_the_policy_says_so() {
    for (line, expected) in [("", false), ("compiledCode: Never\n", false), ("compiledCode: Signed\n", true)]
    {
        let policy = parse(&file(&format!("repositories: [a.b/c]\nkeys: [a]\n{line}"))).expect("taken");
        assert_eq!(policy.uses_compiled_code, expected, "{line:?}");
    }
}

#[test]
fn relative_paths_are_those_of_the_files_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sets.yaml");
    let rest =
        "repositories: [registry.example.com/a]\nkeys: [sets.pub, /etc/b.pub]\npullCredentials: r.json";
    std::fs::write(&path, file(rest)).expect("written");
    let policy = of_text(&path, &read_text(&path).expect("readable")).expect("taken");
    assert_eq!(policy.keys, [folder.path().join("sets.pub"), "/etc/b.pub".into()]);
    assert_eq!(policy.pull_credentials, Some(folder.path().join("r.json")));
    assert!(matches!(read_text(Path::new("/nonexistent.yaml")), Err(SetPolicyError::Read { .. })));
}

#[test]
fn what_makes_no_sense_is_refused_by_its_field() {
    let whole = "repositories: [registry.example.com/a]\nkeys: [a]\n";
    let cases = [
        (file(whole).replace("PluginSetPolicy", "PluginConfiguration"), "kind: must be \"PluginSetPolicy\""),
        (file("repositories: []\nkeys: [a]\n"), "repositories: 1 to 16 are needed, found 0"),
        (file("repositories: [registry.example.com/a]\nkeys: []\n"), "keys: 1 to 16 are needed, found 0"),
        (file("repositories: [a]\nkeys: [a]\n"), "repositories[0]: \"a\" must be HOST[:PORT]/PATH"),
        (file("repositories: ['*']\nkeys: [a]\n"), "repositories[0]: \"*\" must be"),
        (file("repositories: [fleet/plugins]\nkeys: [a]\n"), "repositories[0]: \"fleet/plugins\" must be"),
        (file("repositories: ['a.b/*/c']\nkeys: [a]\n"), "repositories[0]: \"a.b/*/c\" must be"),
        (file("repositories: ['a.b/c*']\nkeys: [a]\n"), "repositories[0]: \"a.b/c*\" must be"),
        (file("repositories: [a.b/c]\nkeys: ['']\n"), "keys[0]: no path"),
        (file(&format!("{whole}jitter: 25h\n")), "jitter: \"25h\" must be 0s to 24h"),
        (file(&format!("{whole}jitter: soon\n")), "jitter: \"soon\" must be 0s to 24h"),
        (
            file(&format!("{whole}compiledCode: signed\n")),
            "compiledCode: must be \"Never\" or \"Signed\", found \"signed\"",
        ),
    ];
    for (text, expected) in cases {
        let problem = parse(&text).expect_err("refused");
        assert!(problem.starts_with(expected), "{problem}");
    }
    assert!(parse(&file(&format!("{whole}colour: red\n"))).expect_err("refused").contains("colour"));
    assert!(parse("").is_err());
}
