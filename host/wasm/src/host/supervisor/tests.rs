//! What follows for a plugin when the file is read again, and when a load has failed.

use crate::attestation::Accepted;
use serde_json::json;
use witlet_core::admission::chain::FailurePolicy;

use super::super::data::tests::ManualClock;
use super::super::data::{DataConfig, DataStore};
use super::super::retry::RETRY_MIN;
use super::configuration::{WRITE_WAIT, WRITES_MAX};
use super::*;
use crate::compile::CompileError;
use crate::guest::known_node::KnownNode;
use crate::metrics::Metrics;
use crate::plugin::config::{Grants, RequiredConformance};
use crate::plugin::{ConformanceError, Demand, LoadError, Loaded, Origin, Vouched};

/// Versions of one entry: `other` runs another way, `policy` runs the same way.
fn spec(version: &str) -> Spec {
    let config = json!(version);
    let mut spec = Spec::direct(Duration::from_secs(1), 1 << 20, None, Grants::default(), &config);
    if let Some(base) = version.strip_suffix("+policy") {
        spec.config = json!(base).to_string().into();
        if let Some(admission) = &mut spec.admission {
            admission.failure_policy = FailurePolicy::Reject;
            admission.order = 1;
        }
    }
    spec
}

fn running(version: &str, code: Code) -> Arc<Plugin> {
    Arc::new(Plugin::new(spec(version), code, Metrics::default().plugin("direct"), None))
}

fn ready(version: &str) -> Arc<Plugin> {
    running(version, Code::Ready(Arc::new(Loaded::uncalled("digest"))))
}

fn missing() -> LoadError {
    LoadError::Read { path: "a.wasm".into(), cause: std::io::ErrorKind::NotFound.into() }
}

fn refused() -> LoadError {
    LoadError::Compile(CompileError::Invalid { message: String::new() })
}

fn failure(version: &str, error: LoadError) -> Failure {
    Failure::new(&spec(version), Some("bad".to_owned()), Arc::new(error), None, Instant::now())
}

#[tokio::test]
async fn each_change_of_an_entry_takes_the_least_that_it_needs() {
    let work = |version: &str| {
        let task = JoinSet::new().spawn(std::future::pending::<()>());
        Work::new(spec(version), 1, None, task)
    };
    let none = || None::<Work>;
    let cases = [
        ("a new entry", spec("1"), None, none(), None, Step::Load),
        ("an entry that runs", spec("1"), Some(ready("1")), none(), None, Step::Nothing),
        ("another policy", spec("1+policy"), Some(ready("1")), none(), None, Step::Nothing),
        ("another configuration", spec("2"), Some(ready("1")), none(), None, Step::Load),
        ("one that is being loaded", spec("2"), Some(ready("1")), Some(work("2")), None, Step::Respecify),
        (
            "its policy while it is",
            spec("2+policy"),
            Some(ready("1")),
            Some(work("2")),
            None,
            Step::Respecify,
        ),
        ("a third meanwhile", spec("3"), Some(ready("1")), Some(work("2")), None, Step::Load),
        ("back while it is", spec("1"), Some(ready("1")), Some(work("2")), None, Step::Return),
        (
            "one that failed",
            spec("2"),
            Some(ready("1")),
            none(),
            Some(failure("2", refused())),
            Step::Nothing,
        ),
        ("back after it", spec("1"), Some(ready("1")), none(), Some(failure("2", refused())), Step::Return),
        ("a third after it", spec("3"), Some(ready("1")), none(), Some(failure("2", refused())), Step::Load),
        (
            "a new file that failed under the same entry",
            spec("1"),
            Some(ready("1")),
            none(),
            Some(failure("1", refused())),
            Step::Nothing,
        ),
        (
            "one that never ran",
            spec("2"),
            Some(running("1", Code::Failed(Arc::new(refused())))),
            none(),
            Some(failure("1", refused())),
            Step::Load,
        ),
        ("one whose load was lost", spec("1"), Some(running("1", Code::Loading)), none(), None, Step::Load),
    ];
    let vouched = Arc::new(vouched(Some("0.1.0"), "old"));
    let vouched_case = (
        "back under a demand: the keys may be others by now",
        demanding(Some("0.1.0")),
        Some(vouched),
        Some(work("2")),
        None,
        Step::Load,
    );
    for (what, spec, old, work, failure, expected) in cases.into_iter().chain([vouched_case]) {
        assert_eq!(next_step(&spec, old.as_ref(), work.as_ref(), failure.as_ref()), expected, "{what}");
    }
}

const KEY_ID: &str = "ci";

/// A plugin under a demand of this kit, whose component has this digest.
fn vouched(kit: Option<&str>, digest: &str) -> Plugin {
    let mut loaded = Loaded::uncalled(digest);
    loaded.vouched = kit.map(|kit| Vouched {
        key: "/etc/witlet/ci.pub.pem".into(),
        report: Accepted {
            key_id: KEY_ID.to_owned(),
            key_index: 0,
            kit_version: kit.to_owned(),
            passed: true,
            config_digest: String::new(),
            time: jiff::Timestamp::UNIX_EPOCH,
        },
    });
    let code = Code::Ready(Arc::new(loaded));
    Plugin::new(demanding(kit), code, Metrics::default().plugin("direct"), None)
}

fn demanding(kit: Option<&str>) -> Spec {
    let required = |kit: &str| RequiredConformance {
        keys: vec!["ci.pub.pem".into()],
        kit_version: kit.parse().ok(),
        failed_too: false,
    };
    let origin = Origin::File("a.wasm".into());
    let demand = kit.and_then(|kit| Demand::new(&required(kit), &origin, None, Path::new("/etc/witlet")));
    Spec { origin, conformance: demand, ..spec("1") }
}

#[test]
fn what_runs_goes_on_after_a_failure_unless_no_one_vouches_for_it_any_more() {
    let kept_out = || {
        let then = "";
        LoadError::Conformance(Box::new(ConformanceError::NoReport { place: String::new(), then }))
    };
    let cases = [
        ("no report is demanded", None, None, "new", refused(), true),
        ("a new component isn't vouched for", Some("0.1.0"), Some("0.1.0"), "new", kept_out(), true),
        ("a new one doesn't compile", Some("0.1.0"), Some("0.1.0"), "new", refused(), true),
        ("this one isn't vouched for any more", Some("0.1.0"), Some("0.1.0"), "old", kept_out(), false),
        ("this one fails in another way", Some("0.1.0"), Some("0.1.0"), "old", refused(), true),
        ("a demand was added", None, Some("0.1.0"), "old", kept_out(), false),
        ("a demand was added with another component", None, Some("0.1.0"), "new", kept_out(), false),
        ("a demand was added and nothing can be read", None, Some("0.1.0"), "new", missing(), false),
        ("a demand has grown", Some("0.1.0"), Some("0.2.0"), "old", kept_out(), false),
        ("a demand has gone", Some("0.1.0"), None, "new", refused(), true),
    ];
    for (what, before, now, digest, error, expected) in cases {
        let spares = failure_spares(&vouched(before, "old"), &demanding(now), Some(digest), None, &error);
        assert_eq!(spares, expected, "{what}");
    }
}

#[test]
fn what_runs_does_not_outlive_the_key_that_vouches_for_it_whatever_keeps_its_successor_out() {
    let old = vouched(Some("0.1.0"), "old");
    let keys = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    let cases = [
        ("its key counts", keys(&["other", KEY_ID]), true),
        ("no one could check", None, true),
        ("only another key counts", keys(&["other"]), false),
        ("no key counts", keys(&[]), false),
    ];
    for (what, keys, expected) in cases {
        for error in [refused(), missing()] {
            let spares =
                failure_spares(&old, &demanding(Some("0.1.0")), Some("new"), keys.as_deref(), &error);
            assert_eq!(spares, expected, "{what}: {error}");
        }
        assert!(failure_spares(&old, &demanding(None), Some("new"), keys.as_deref(), &refused()), "{what}");
    }
}

#[test]
fn a_component_is_known_by_what_runs_under_the_same_key_and_by_what_failed() {
    let known = KnownComponents {
        runs: Some(("runs".to_owned(), vec!["a".to_owned()])),
        failed: Some("bad".to_owned()),
    };
    let cases = [("runs", Some("a"), true), ("runs", Some("b"), false), ("runs", None, false)];
    for (digest, key, expected) in
        cases.into_iter().chain([("bad", Some("b"), true), ("new", Some("a"), false)])
    {
        let keys: Vec<String> = key.into_iter().map(str::to_owned).collect();
        assert_eq!(known.covers(digest, &keys), expected, "{digest} by {key:?}");
    }
    assert!(!KnownComponents::default().covers("runs", &[]));
}

#[test]
fn a_failure_of_the_component_s_own_is_final_until_something_changes() {
    let own = failure("1", refused());
    assert!(!own.is_due(Instant::now() + Duration::from_secs(1 << 20)));
    assert!(own.is_final_for(&spec("1")) && own.is_final_for(&spec("1+policy")));
    assert!(!own.is_final_for(&spec("2")), "another configuration may help");
    let machine = failure("1", missing());
    assert!(!machine.is_final_for(&spec("1")));
    assert!(machine.is_due(Instant::now() + RETRY_MIN));
}

#[test]
fn the_same_failure_again_is_tried_later_and_another_one_soon() {
    let start = Instant::now();
    let fail = |digest: &str, previous: Option<&Failure>| {
        Failure::new(&spec("1"), Some(digest.to_owned()), Arc::new(missing()), previous, start)
    };
    let first = fail("a", None);
    let again = fail("a", Some(&first));
    assert!(first.is_due(start + RETRY_MIN) && !again.is_due(start + RETRY_MIN));
    assert!(again.is_due(start + RETRY_MIN * 2));
    assert!(fail("b", Some(&again)).is_due(start + RETRY_MIN), "other bytes");
}

/// Reads a first configuration of `text` at the start, while someone else does `meanwhile` to its file.
async fn read_while(text: &str, meanwhile: impl AsyncFnOnce(&Path)) -> Result<usize, FileError> {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("plugins.yaml");
    std::fs::write(&path, text).expect("writable");
    let sources = Sources {
        plugins_file: Some(path.clone()),
        builtins: Vec::new(),
        shipped: Vec::new(),
        last_good: None,
        node: KnownNode::default(),
        data: DataStore::new(DataConfig::default(), Arc::new(ManualClock::default())),
    };
    let (read, ()) = tokio::join!(sources.read_first(), meanwhile(&path));
    read.map(|taken| taken.configuration.plugins.len())
}

const WHOLE: &str = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins: \
                     [{name: a, component: a.wasm, admission: {}}]\n";

#[tokio::test(start_paused = true)]
async fn a_first_configuration_that_is_being_written_is_waited_for() {
    for begun in [0, 20, 40, WHOLE.len() - 9] {
        let read = read_while(&WHOLE[..begun], async |path| {
            tokio::time::sleep(WRITE_WAIT / 2).await;
            std::fs::write(path, &WHOLE[..begun + 2]).expect("writable");
            tokio::time::sleep(WRITE_WAIT).await;
            std::fs::write(path, WHOLE).expect("writable");
        });
        assert!(matches!(read.await, Ok(1)), "{begun} bytes at first");
    }
    let moved = read_while(WHOLE, async |path| {
        std::fs::rename(path, path.with_extension("old")).expect("writable");
        std::fs::write(path, "").expect("writable");
        std::fs::remove_file(path).expect("writable");
        tokio::time::sleep(WRITE_WAIT / 2).await;
        std::fs::rename(path.with_extension("old"), path).expect("writable");
    });
    assert!(matches!(moved.await, Ok(1)), "replaced as editors do");
}

#[tokio::test(start_paused = true)]
async fn a_first_configuration_that_is_bad_is_refused_soon_and_one_that_never_rests_at_last() {
    let begun = Instant::now();
    let bad = read_while("kind: Nonsense", async |_| {}).await;
    assert!(matches!(bad, Err(FileError::Content { .. })) && begun.elapsed() == WRITE_WAIT);
    let restless = read_while("", async |path| {
        for size in 1..3 * WRITES_MAX {
            tokio::time::sleep(WRITE_WAIT / 2).await;
            std::fs::write(path, "#".repeat(size)).expect("writable");
        }
    });
    assert!(matches!(restless.await, Err(FileError::Content { .. })));
    assert!(begun.elapsed() < WRITE_WAIT * 40);
}
