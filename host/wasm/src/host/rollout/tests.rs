//! What a version's rollout is bound to, what is kept of it, and who judges meanwhile.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::rollout::{ErrorBudget, RevertReason, RolloutPolicy};
use witlet_core::admission::{AdmissionRequest, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;

use super::*;
use crate::metrics::Metrics;
use crate::plugin::config::Grants;
use crate::plugin::{Code, LabelSelector, LoadError, Loaded, Spec};

/// No call may fail, and one makes a step.
fn role(entry: &str) -> RolloutRole {
    let budget = ErrorBudget { max_errors: Some(0), min_calls: 1, ..ErrorBudget::default() };
    let policy = RolloutPolicy { percent: 20, step_percent: 80, soak: Some(Duration::ZERO), budget };
    RolloutRole { of: "old".into(), labels: None, policy, entry_digest: entry.into() }
}

fn plugin(code: Code, rollout: Option<RolloutRole>) -> Plugin {
    let mut spec = Spec::direct(Duration::from_secs(1), 1 << 20, None, Grants::default(), &Value::Null);
    if let Some(admission) = &mut spec.admission {
        admission.rollout = rollout;
    }
    Plugin::new(spec, code, Metrics::default().plugin("direct"), None)
}

fn ready(digest: &str, entry: &str) -> Plugin {
    plugin(Code::Ready(Arc::new(Loaded::uncalled(digest))), Some(role(entry)))
}

fn subject(labels: &Value) -> MatchSubject {
    let pod = json!({"metadata": {"name": "web", "namespace": "default", "labels": labels}});
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let request = AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(pod),
        old_pod: None,
        image: None,
        source: SourceName::from("api"),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    };
    MatchSubject::new(&request, true)
}

/// In the words of people; none if no rollout is known of this version.
fn stands(rollouts: &Rollouts, plugin: &Plugin) -> Option<String> {
    let status = rollouts.status(plugin, Instant::now())?;
    let reason = status.reason.map(|reason| format!(" {}", reason.as_str()));
    Some(format!("{:?} {}%{}", status.phase, status.percent, reason.unwrap_or_default()))
}

fn fail(rollouts: &Rollouts, plugin: &Plugin) {
    let change = rollouts
        .change(plugin, |rollout, role| rollout.observe(&role.policy, RolloutObservation::Failed))
        .expect("none may fail");
    assert!(
        matches!(change, RolloutChange::Reverted(revert) if revert.reason == RevertReason::ErrorBudgetExceeded)
    );
}

#[tokio::test]
async fn a_rollout_is_of_a_component_and_an_entry() {
    let rollouts = Rollouts::new();
    let follow = |plugin: &Plugin| {
        rollouts.follow(plugin, Instant::now());
        stands(&rollouts, plugin)
    };
    let failed = Code::Failed(Arc::new(LoadError::Interrupted));
    let reverted = Some("Reverted 0% ErrorBudgetExceeded".to_owned());
    let begun = Some("Progressing 20%".to_owned());
    let first = ready("d1", "e1");
    assert_eq!(stands(&rollouts, &first), None, "it isn't followed yet");
    assert_eq!(follow(&first), begun);
    fail(&rollouts, &first);
    assert_eq!(follow(&first), reverted, "the same set again");
    assert_eq!(follow(&ready("d1", "e1")), reverted, "the same version, loaded again");
    assert_eq!(follow(&plugin(failed.clone(), Some(role("e1")))), None, "one that doesn't load");
    assert_eq!(follow(&plugin(Code::Loading, Some(role("e1")))), None, "one that is being loaded");
    assert_eq!(follow(&first), reverted, "and is loaded then");
    let ignored = rollouts.change(&ready("d2", "e1"), |_, _| Some(RolloutChange::Completed));
    assert_eq!(ignored, None, "a call of another version says nothing about this one");
    assert_eq!(follow(&ready("d2", "e1")), begun, "another component");
    fail(&rollouts, &ready("d2", "e1"));
    assert_eq!(follow(&ready("d2", "e2")), begun, "another entry");
    fail(&rollouts, &ready("d2", "e2"));
    assert_eq!(follow(&plugin(Code::Loading, None)), None, "an entry without a rollout");
    assert_eq!(follow(&ready("d2", "e2")), begun, "that has one again");
}

#[tokio::test]
async fn what_is_kept_is_gone_on_with_by_the_same_version_alone() {
    let before = Rollouts::new();
    let version = ready("d1", "e1");
    assert_eq!(before.take_changed(), None, "nothing is to be kept");
    before.follow(&version, Instant::now());
    assert!(before.take_changed().is_some_and(|kept| kept.len() == 1));
    before.follow(&version, Instant::now());
    assert_eq!(before.take_changed(), None, "nothing changed");
    fail(&before, &version);
    let kept = before.take_changed().expect("it changed");
    let text = serde_json::to_vec(&kept).expect("it has a JSON form");
    let kept: KeptRollouts = serde_json::from_slice(&text).expect("it is read again");
    for (plugin, expected) in [
        (ready("d1", "e1"), "Reverted 0% ErrorBudgetExceeded"),
        (ready("d2", "e1"), "Progressing 20%"),
        (ready("d1", "e2"), "Progressing 20%"),
    ] {
        let after = Rollouts::new();
        after.restore(kept.clone(), Instant::now());
        after.follow(&plugin, Instant::now());
        assert_eq!(stands(&after, &plugin).as_deref(), Some(expected));
    }
    before.retain(|name| name == "direct");
    assert_eq!(before.take_changed(), None);
    before.retain(|_| false);
    assert_eq!(before.take_changed(), Some(KeptRollouts::new()), "an entry that is gone");
}

#[tokio::test]
async fn one_of_the_two_judges_each_pod() {
    let web = subject(&json!({"app": "web"}));
    let own = bucket("direct", web.pod());
    let begun = |percent: u8, labels: Option<&str>| {
        let mut role = role("e1");
        role.policy.percent = percent;
        role.labels = labels.map(|app| LabelSelector {
            match_labels: [("app".to_owned(), app.to_owned())].into(),
            ..LabelSelector::default()
        });
        let plugin = plugin(Code::Ready(Arc::new(Loaded::uncalled("d1"))), Some(role));
        let rollouts = Rollouts::new();
        rollouts.follow(&plugin, Instant::now());
        (rollouts, plugin)
    };
    let cases = [
        ("a share with its owner", own + 1, None, Judge::New),
        ("a share without it", own, None, Judge::Predecessor),
        ("its labels", 0, Some("web"), Judge::New),
        ("others", 0, Some("api"), Judge::Predecessor),
    ];
    for (what, percent, labels, expected) in cases {
        let (rollouts, plugin) = begun(percent, labels);
        assert_eq!(rollouts.judge(&plugin, &web), expected, "{what}");
        fail(&rollouts, &plugin);
        assert_eq!(rollouts.judge(&plugin, &web), Judge::PredecessorAlone, "{what}: after it was reverted");
    }
    let (rollouts, _) = begun(100, None);
    for code in [Code::Loading, Code::Failed(Arc::new(LoadError::Interrupted))] {
        let unloaded = plugin(code, Some(role("e1")));
        assert_eq!(rollouts.judge(&unloaded, &web), Judge::PredecessorAlone);
    }
}
