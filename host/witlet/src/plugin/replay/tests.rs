//! What is reported of two answers.

use expect_test::expect;

use super::*;

/// What is printed of two answers that have all that there can be, and as little as they can have.
pub(crate) fn reports() -> Vec<serde_json::Value> {
    let replayed = |answer, same| Replayed {
        answer,
        took: Duration::from_micros(28),
        memory_bytes_peak: 2 << 20,
        lines: vec![witlet_wasm::direct::CapturedLine {
            level: "warn",
            message: "slow".to_owned(),
            fields: vec![("after".to_owned(), "1s".to_owned())],
        }],
        digest: "fedcba9876543210".to_owned(),
        same,
        commands: (!same).then(|| "it ran [\"x\"]\nwhere it ran none then".to_owned()),
    };
    let text = |text: &str| text.to_owned();
    let answers = [
        RecordedResponse::Admit,
        RecordedResponse::Reject { reason: text("R"), message: text("m") },
        RecordedResponse::Defer { reason: text("R"), message: text("m"), retry_after_milliseconds: 5 },
        RecordedResponse::Shortage { resources: vec![text("cpu: requested 2, used 1, capacity 2")] },
        RecordedResponse::Success { detail: text("d") },
        RecordedResponse::Warning { detail: text("d") },
        RecordedResponse::Failure { detail: text("d") },
        RecordedResponse::Unchanged { cursor: None },
        RecordedResponse::Pods { manifests: vec![text("{}")], cursor: Some(text("7")) },
        RecordedResponse::Empty { cursor: None },
        RecordedResponse::Fault { reason: text("R"), message: text("m") },
        RecordedResponse::Failed { outcome: text("trap"), message: text("m") },
    ];
    let of = |(number, answer)| for_programs(&call(), &replayed(answer, number % 2 == 0));
    answers.into_iter().enumerate().map(of).collect()
}

fn call() -> RecordedCall {
    serde_json::from_value(json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "RecordedCall", "note": "", "plugin": "alive",
        "component": "oci://registry.example.com/alive@sha256:00", "digest": "0123456789abcdef",
        "config": null, "limits": {"timeoutMilliseconds": 1000, "memoryBytes": 65536}, "grants": ["exec"],
        "recordedAt": "2026-01-02T03:04:05Z", "tookNanoseconds": 31_400,
        "question": {
            "role": "probe", "probeType": "alive", "parameters": "{}", "container": "app", "containerId": "c1",
            "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "web"}},
            "restarts": 0, "podIps": [], "hostIps": [], "kind": "Liveness", "timeoutMilliseconds": 1000, "execs": [],
        },
        "answer": {"kind": "failure", "detail": "no\u{1b}[31m"},
    }))
    .expect("a recorded call")
}

#[test]
fn people_see_both_answers_and_nothing_reaches_their_terminal() {
    let replayed = Replayed {
        answer: RecordedResponse::Success { detail: "yes\u{202e}".to_owned() },
        took: Duration::from_micros(28),
        memory_bytes_peak: 2 << 20,
        lines: vec![witlet_wasm::direct::CapturedLine {
            level: "warn",
            message: "slow\u{7}".to_owned(),
            fields: vec![("after".to_owned(), "1s".to_owned())],
        }],
        digest: "fedcba9876543210".to_owned(),
        same: false,
        commands: Some("it ran [\"x\"]\nwhere it ran none then".to_owned()),
    };
    expect![[r#"
        plugin     alive (probe)
        question   Liveness of app in default/web with {}
        recorded   failure: no�[31m, in 31.4µs by 0123456789ab at 2026-01-02T03:04:05Z
        now        success: yes�, in 28.0µs by fedcba987654
        memory     2.0Mi
        log        warn: slow� after=1s
        commands   it ran ["x"] where it ran none then
        result     different answer
    "#]]
    .assert_eq(&for_people(&call(), &replayed));
    let value = for_programs(&call(), &replayed);
    assert_eq!((&value["same"], &value["now"]["answer"]["kind"]), (&json!(false), &json!("success")));
}

/// `witlet plugin replay call.json`, with a configuration or without.
fn args(plugins: Option<&Path>) -> ReplayArgs {
    ReplayArgs {
        cache: crate::cli::ComponentCacheArgs::default(),
        file: PathBuf::from("call.json"),
        component: None,
        plugins: plugins.map(Path::to_owned),
        data: Vec::new(),
        to_case: false,
        registry: RegistryArgs { registry_credentials: None, plain_http: false },
        output: OutputFormat::Table,
    }
}

#[tokio::test]
async fn a_component_that_is_not_in_a_file_is_asked_for() {
    // Whose folder isn't known.
    let named = RecordedCall { component: "alive.wasm".to_owned(), ..call() };
    let error = recorded(&named, &args(None)).await.expect_err("it is nowhere");
    assert!(error.to_string().contains("--component"), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plugins.yaml");
    let header = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\n";
    let write =
        |plugins: &str| std::fs::write(&file, format!("{header}plugins:{plugins}\n")).expect("written");
    let args = args(Some(&file));
    write(" []");
    assert!(matches!(recorded(&call(), &args).await, Err(Error::NoEntry { .. })));
    write("\n- {name: alive, component: ./alive.wasm, probe: {}}");
    assert!(matches!(recorded(&call(), &args).await, Err(Error::Component(_))));
    std::fs::write(folder.path().join("alive.wasm"), b"bytes").expect("written");
    assert_eq!(&*recorded(&call(), &args).await.expect("found"), b"bytes");
    write(" 7");
    assert!(matches!(recorded(&call(), &args).await, Err(Error::Configuration { .. })));
}

#[tokio::test]
async fn a_shipped_component_is_known_by_its_digest() {
    let [first, ..] = witlet_plugins::ADMISSION else { panic!("none ships") };
    let mut call = call();
    call.digest = digest_of(first.component);
    assert_eq!(&*recorded(&call, &args(None)).await.expect("it ships"), first.component);
}

#[test]
fn a_configuration_without_end_is_refused() {
    let refused = configured(&call(), Path::new("/dev/zero")).map(|named| named.component);
    let Err(Error::Plugins { cause, .. }) = refused else { panic!("it has no end: {refused:?}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::FileTooLarge);
}
