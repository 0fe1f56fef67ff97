//! What authors of plugins meet: a new project, what is in a component, how fast it is.

use serde_json::{Value, json};

use crate::plugins::recorded;
use crate::{pod, scratch, witlet, write};

#[test]
fn a_new_project_is_written_and_says_what_to_do_next() {
    let folder = scratch();
    let project = folder.path().join("my-plugin").display().to_string();
    let args = ["plugin", "new", "my-plugin", "--lang", "rust", "--role", "admission", "--into", &project];
    let answer = witlet(&args);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{}", answer.out);
    for word in [&format!("cd {project}"), "make", "make test", "my-plugin.wasm"] {
        assert!(answer.out.contains(word), "{word:?} isn't in: {}", answer.out);
    }
    assert!(folder.path().join("my-plugin/wit/world.wit").is_file());
    let program = std::fs::read_to_string(folder.path().join("my-plugin/.witlet-path")).expect("a path");
    assert!(program.ends_with("witlet\n") || program.ends_with("witlet'\n"), "{program}");
    let again = witlet(&args);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("is not empty") && again.err.contains("--force"), "{}", again.err);
    let forced = witlet(&[&args[..], &["--force", "-o", "json"]].concat());
    assert_eq!(forced.code, 0, "{}", forced.err);
    let reported: Value = serde_json::from_str(&forced.out).expect("JSON");
    let files = reported["files"].as_array().expect("a list");
    assert!(
        files.contains(&"Makefile".into()) && files.contains(&"wit/deps/host-0.2.0/host.wit".into()),
        "{reported}"
    );
    assert_eq!((&reported["language"], &reported["role"]), (&"rust".into(), &"admission".into()));
}

#[test]
fn a_project_is_upgraded_and_what_its_author_changed_stays() {
    let folder = scratch();
    let project = folder.path().join("my-plugin");
    let at = project.display().to_string();
    let new =
        witlet(&["plugin", "new", "my-plugin", "--lang", "typescript", "--role", "probe", "--into", &at]);
    assert!(new.code == 0 && new.out.contains("a probe type in TypeScript"), "{}{}", new.out, new.err);
    let done = witlet(&["plugin", "upgrade", &at]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    assert!(done.out.contains("files were this release's already"), "{}", done.out);
    let read = |name: &str| std::fs::read_to_string(project.join(name)).expect("a file of the project");
    // As an earlier release would have left it, with a file that was changed since and one that wasn't.
    let known: Value = serde_json::from_str(&read(".witlet-template.json")).expect("JSON");
    let mut older = known.clone();
    for name in ["plugin.mk", "tsconfig.json"] {
        older["files"][name] = "00".into();
        write(&project, name, "own");
    }
    write(&project, ".witlet-template.json", &older.to_string());
    let dry = witlet(&["plugin", "upgrade", &at, "--dry-run", "-o", "json"]);
    assert_eq!(dry.code, 4, "{}{}", dry.out, dry.err);
    assert!(!project.join("plugin.mk.new").exists());
    let done = witlet(&["plugin", "upgrade", &at]);
    assert_eq!(done.code, 4, "{}{}", done.out, done.err);
    assert!(done.out.contains("the release's is plugin.mk.new"), "{}", done.out);
    assert_eq!(read("plugin.mk"), "own");
    assert!(read("plugin.mk.new").contains("make watch"));
    assert_eq!(serde_json::from_str::<Value>(&read(".witlet-template.json")).expect("JSON"), known);
    let nothing = witlet(&["plugin", "upgrade", &folder.path().display().to_string()]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.err.contains("is no project of `witlet plugin new`"), "{}", nothing.err);
}

/// Cases of the shipped handler `image-policy`, one of which expects what it doesn't answer.
const CASES: &str = r#"
apiVersion: witlet.dev/v1alpha1
kind: PluginCases
role: admission
config: {allow: ["registry.example.com"]}
cases:
  - name: an image of the registry
    request: {pod: {spec: {containers: [{name: app, image: "registry.example.com/app:1"}]}}}
    expect: {verdict: admit}
  - name: an image from elsewhere
    request: {pod: {spec: {containers: [{name: app, image: "example.com/app:1"}]}}}
    expect: {verdict: admit}
  - name: a configuration that names nothing
    config: {allow: []}
    expect: {validate: allow}
"#;

#[test]
fn cases_are_run_one_by_one_and_show_what_was_answered() {
    let folder = scratch();
    let cases = write(folder.path(), "policy.yaml", CASES).display().to_string();
    let run = ["plugin", "run", "builtin:image-policy", &cases];
    let answer = witlet(&run);
    assert_eq!((answer.code, answer.err.as_str()), (4, ""), "{}", answer.out);
    for words in
        ["handler.admit: admit", "handler.admit: reject ", "handler.validate: ", "memory", "NOT AS EXPECTED"]
    {
        assert!(answer.out.contains(words), "{words:?} isn't in: {}", answer.out);
    }
    assert!(answer.out.ends_with("3 cases, 1 not as expected\n"), "{}", answer.out);
    let good = witlet(&[&run[..], &["--case", "an image of the registry", "-o", "json"]].concat());
    assert_eq!((good.code, good.err.as_str()), (0, ""), "{}", good.out);
    let reported: Value = serde_json::from_str(&good.out).expect("JSON");
    assert_eq!(reported["cases"].as_array().map(Vec::len), Some(1), "{reported}");
    let call = &reported["cases"][0]["calls"][0];
    assert_eq!(
        (&call["answer"]["kind"], &reported["asExpected"]),
        (&"admit".into(), &true.into()),
        "{reported}"
    );
    assert!(call["memoryBytesPeak"].as_u64().is_some_and(|bytes| bytes > 0), "{reported}");
}

#[test]
fn manifests_and_recorded_calls_are_asked_next_to_cases() {
    let folder = scratch();
    let file = |name: &str, text: &str| write(folder.path(), name, text).display().to_string();
    let image = |image: &str| pod(&format!("containers: [{{name: app, image: '{image}'}}]"));
    let pods = [image("registry.example.com/app:1"), image("app:1").replace("name: web", "name: db")];
    let (cases, pods) = (file("policy.yaml", CASES), file("pods.yaml", &pods.join("---\n")));
    let config = ["--config", r#"{"allow": ["registry.example.com"]}"#];
    let answer = witlet(&[&["plugin", "run", "builtin:image-policy", &pods, &cases], &config[..]].concat());
    assert_eq!((answer.code, answer.err.as_str()), (4, ""), "{}", answer.out);
    for words in ["pods.yaml: Pod web of document 1", "pods.yaml: Pod db of document 2", "5 cases, 1 not"] {
        assert!(answer.out.contains(words), "{words:?} isn't in: {}", answer.out);
    }
    let alone = witlet(&[&["plugin", "run", "builtin:image-policy", &pods], &config[..]].concat());
    assert_eq!((alone.code, alone.err.as_str()), (0, ""), "any verdict will do: {}", alone.out);
    assert!(
        alone.out.contains("handler.admit: admit") && alone.out.contains("handler.admit: reject "),
        "{}",
        alone.out
    );

    let call = recorded(&json!({"kind": "admit"}));
    let same = witlet(&["plugin", "run", "builtin:node-os", &file("call.json", &call.to_string())]);
    assert_eq!((same.code, same.err.as_str()), (0, ""), "{}", same.out);
    assert!(same.out.contains("recorded at ") && same.out.contains("handler.admit: admit"), "{}", same.out);
    let call = recorded(&json!({"kind": "reject", "reason": "Never", "message": "never"}));
    let other = witlet(&["plugin", "run", "builtin:node-os", &file("other.json", &call.to_string())]);
    assert_eq!(other.code, 4, "{}{}", other.out, other.err);
    assert!(other.out.contains("NOT AS EXPECTED"), "{}", other.out);
}

#[test]
fn what_cannot_be_run_says_why_and_the_way_out() {
    let folder = scratch();
    let cases = write(folder.path(), "policy.yaml", CASES).display().to_string();
    let run = |args: &[&str]| {
        let answer = witlet(&[&["plugin", "run"], args].concat());
        assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
        answer.err
    };
    let unknown = run(&["builtin:image-policy", &cases, "--case", "another"]);
    assert!(unknown.contains("is called \"another\""), "{unknown}");
    assert!(run(&["builtin:image-policy"]).contains("no cases of the role admission"));
    assert!(run(&["builtin:redis", &cases]).contains("no cases of the role probe"));
    let call = r#"{
        "apiVersion": "witlet.dev/v1alpha1", "kind": "RecordedCall", "note": "", "plugin": "p", "component": "", "digest": "",
        "config": null, "limits": {"timeoutMilliseconds": 1, "memoryBytes": 1}, "grants": [],
        "recordedAt": "1970-01-01T00:00:00Z", "tookNanoseconds": 0,
        "question": {"role": "podSource", "cursor": null}, "answer": {"kind": "admit"}
    }"#;
    let call = write(folder.path(), "call.json", call).display().to_string();
    let recorded = run(&["builtin:image-policy", &call]);
    assert!(recorded.contains("witlet plugin replay") && recorded.contains("call.json"), "{recorded}");
    assert!(recorded.contains("a call of the role podSource can't be a case"), "{recorded}");
    let typo = pod("containers: [{name: app, imag: 'app:1'}]");
    let typo =
        run(&["builtin:image-policy", &write(folder.path(), "typo.yaml", &typo).display().to_string()]);
    assert!(typo.contains("typo.yaml: document 1") && typo.contains("spec.containers[0].imag"), "{typo}");
}

#[test]
fn names_languages_and_roles_that_do_not_exist_exit_2_with_what_does() {
    let new = |name: &str, lang: &str, role: &str| {
        let answer =
            witlet(&["plugin", "new", name, "--lang", lang, "--role", role, "--into", "/nonexistent/x"]);
        assert_eq!(answer.code, 2, "{}", answer.err);
        answer.err
    };
    assert!(new("My_Plugin", "rust", "probe").contains("small letters"));
    assert!(new("../x", "rust", "probe").contains("small letters"));
    assert!(new("x", "cobol", "probe").contains("python"));
    assert!(new("x", "rust", "podSource").contains("pod-source"));
}

#[test]
fn a_name_that_the_language_reserves_is_refused_before_anything_is_written() {
    let folder = scratch();
    let project = folder.path().join("test").display().to_string();
    let answer = witlet(&["plugin", "new", "test", "--lang", "rust", "--role", "probe", "--into", &project]);
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("my-test") && !folder.path().join("test").exists(), "{}", answer.err);
}

#[test]
fn a_component_is_measured_next_to_its_floor() {
    let config = r#"{"allow": ["registry.example.com"]}"#;
    let measure =
        ["plugin", "bench", "builtin:image-policy", "--config", config, "--calls", "5", "-o", "json"];
    let answer = witlet(&measure);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{}", answer.out);
    let reported: Value = serde_json::from_str(&answer.out).expect("JSON");
    let result = &reported["results"][0];
    assert_eq!((&reported["kind"], &result["role"]), (&"PluginBenchmark".into(), &"admission".into()));
    assert!(reported["component"]["sizeBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{reported}");
    for kind in ["fresh", "warm"] {
        assert_eq!(result[kind]["calls"], 5, "{result}");
        assert!(result[kind]["memoryBytesLast"].as_u64().is_some_and(|bytes| bytes > 0), "{result}");
        assert!(result[kind]["p99Seconds"].as_f64() >= result[kind]["p50Seconds"].as_f64(), "{result}");
    }
    assert!(result["floor"]["p50Seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{result}");
    let warm = witlet(&[&measure[..], &["--warm"]].concat());
    let reported: Value = serde_json::from_str(&warm.out).expect("JSON");
    assert!(
        reported["results"][0]["fresh"].is_null() && reported["results"][0]["warm"].is_object(),
        "{reported}"
    );
}

#[test]
fn what_cannot_be_measured_says_why_and_the_way_out() {
    let bench = |args: &[&str]| {
        let answer = witlet(&[&["plugin", "bench"], args].concat());
        assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
        answer.err
    };
    let refused = bench(&["builtin:image-policy"]);
    assert!(refused.contains("allow"), "its own words are reported: {refused}");
    let role = bench(&["builtin:image-policy", "--role", "probe"]);
    assert!(role.contains("does not have the role probe, it has admission"), "{role}");
    assert!(bench(&["builtin:image-policy", "--config", "{"]).contains("--config: "));
    assert!(bench(&["/nonexistent.wasm"]).contains("/nonexistent.wasm"));
}

#[test]
fn what_is_in_a_component_is_reported_with_its_contracts_and_limits() {
    let answer = witlet(&["plugin", "inspect", "builtin:image-policy"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let words = [
        "admission: starts within 16Mi",
        "witlet:admission/handler 0.1.0",
        "image-policy 0.1.0",
        "allow (array, required): Registries, or globs",
    ];
    for words in words {
        assert!(answer.out.contains(words), "{words:?} isn't in: {}", answer.out);
    }
    let reported: Value =
        serde_json::from_str(&witlet(&["plugin", "inspect", "builtin:image-policy", "-o", "json"]).out)
            .expect("JSON");
    assert_eq!(reported["fits"][0]["obstacle"], Value::Null);
    let contracts = reported["contracts"].as_array().expect("a list");
    assert!(contracts.iter().all(|contract| contract["servedBy"] == "0.1.0"), "{reported}");
}
