//! What follows for a plugin when the file is read again, and when a load has failed.

use serde_json::json;
use witlet_core::admission::chain::FailurePolicy;

use super::super::retry::RETRY_MIN;
use super::*;
use crate::compile::CompileError;
use crate::metrics::Metrics;
use crate::plugin::config::Grants;
use crate::plugin::{LoadError, Loaded};

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
        Work::new(spec(version), 1, task)
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
    for (what, spec, old, work, failure, expected) in cases {
        assert_eq!(next_step(&spec, old.as_ref(), work.as_ref(), failure.as_ref()), expected, "{what}");
    }
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
