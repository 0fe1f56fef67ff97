//! Tables of which pods a new handler judges, when these are more, and when it judges none any more.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::*;
use RolloutObservation::{Answered, Differed, Failed, Quarantined};

const SOAK: Duration = Duration::from_secs(600);

/// A tenth, then in steps of 40; one call of fifty may fail, ten calls make a step.
fn policy() -> RolloutPolicy {
    let budget = ErrorBudget { max_error_percent: 2, min_calls: 10, ..ErrorBudget::default() };
    RolloutPolicy { percent: 10, step_percent: 40, soak: Some(SOAK), budget }
}

fn begun(policy: &RolloutPolicy) -> Rollout {
    Rollout::begin(policy, Duration::ZERO)
}

/// Notes these in turn. What changed, if anything did: nothing is noted after it.
fn observe(
    rollout: &mut Rollout,
    policy: &RolloutPolicy,
    observations: impl IntoIterator<Item = RolloutObservation>,
) -> Option<RolloutChange> {
    observations.into_iter().find_map(|observation| rollout.observe(policy, observation))
}

fn times(count: usize, observation: RolloutObservation) -> Vec<RolloutObservation> {
    vec![observation; count]
}

/// In the words of people.
fn stands(rollout: &Rollout) -> String {
    let message = rollout.revert().map(|revert| format!(" {}: {}", revert.reason.as_str(), revert.message));
    format!("{:?} {}%{}", rollout.phase(), rollout.percent(), message.unwrap_or_default())
}

#[test]
fn each_budget_holds_up_to_its_bound_and_no_further() {
    let with = |change: fn(&mut ErrorBudget)| {
        let mut policy = policy();
        change(&mut policy.budget);
        policy
    };
    let calls = |answered: usize, failed: usize| [times(answered, Answered), times(failed, Failed)].concat();
    let ok = "Progressing 10%";
    let cases = [
        ("nothing happened", policy(), Vec::new(), ok),
        ("all answered", policy(), calls(1000, 0), ok),
        ("too few calls for a share", policy(), calls(0, 9), ok),
        (
            "enough calls for a share",
            policy(),
            calls(0, 10),
            "Reverted 0% ErrorBudgetExceeded: 10 of 10 calls failed, which is more than 2%",
        ),
        ("just the share", policy(), calls(98, 2), ok),
        (
            "more than the share",
            policy(),
            calls(98, 3),
            "Reverted 0% ErrorBudgetExceeded: 3 of 101 calls failed, which is more than 2%",
        ),
        ("no share that is too large", with(|budget| budget.max_error_percent = 100), calls(0, 500), ok),
        (
            "none may fail",
            with(|budget| budget.max_error_percent = 0),
            calls(10, 1),
            "Reverted 0% ErrorBudgetExceeded: 1 of 11 calls failed, which is more than 0%",
        ),
        ("just the count", with(|budget| budget.max_errors = Some(3)), calls(0, 3), ok),
        (
            "more than the count, whatever the share",
            with(|budget| budget.max_errors = Some(3)),
            calls(0, 4),
            "Reverted 0% ErrorBudgetExceeded: 4 of 4 calls failed, which is more than 3",
        ),
        (
            "no error at all",
            with(|budget| budget.max_errors = Some(0)),
            calls(1000, 1),
            "Reverted 0% ErrorBudgetExceeded: 1 of 1001 calls failed, which is more than 0",
        ),
        ("differences don't count by themselves", policy(), times(1000, Differed), ok),
        ("just so many differ", with(|budget| budget.max_differences = Some(2)), times(2, Differed), ok),
        (
            "more differ",
            with(|budget| budget.max_differences = Some(2)),
            times(3, Differed),
            "Reverted 0% TooManyDifferences: 3 verdicts differed from its predecessor's, which is more than 2",
        ),
        (
            "a quarantine is more than any budget allows",
            with(|budget| budget.max_error_percent = 100),
            [calls(1, 3), vec![Quarantined]].concat(),
            "Reverted 0% Quarantined: 3 of 4 calls failed, and the plugin is in quarantine",
        ),
    ];
    for (what, policy, observations, expected) in cases {
        let mut rollout = begun(&policy);
        let change = observe(&mut rollout, &policy, observations);
        assert_eq!(stands(&rollout), expected, "{what}");
        assert_eq!(change.is_some(), rollout.phase() == RolloutPhase::Reverted, "{what}");
        assert_eq!(change, rollout.revert().cloned().map(RolloutChange::Reverted), "{what}");
    }
}

#[test]
fn a_step_lasts_for_its_soak_and_its_calls() {
    let unsoaked = RolloutPolicy { soak: None, ..policy() };
    let cases = [
        ("neither", policy(), 9, SOAK / 2, None),
        ("too soon", policy(), 1000, SOAK - Duration::from_millis(1), None),
        ("too few calls", policy(), 9, SOAK * 100, None),
        ("both", policy(), 10, SOAK, Some(RolloutChange::Stepped { percent: 50 })),
        ("no soak, so by hand alone", unsoaked, 1000, SOAK * 100, None),
        (
            "all at once",
            RolloutPolicy { step_percent: 100, ..policy() },
            10,
            SOAK,
            Some(RolloutChange::Stepped { percent: 100 }),
        ),
        ("from all", RolloutPolicy { percent: 100, ..policy() }, 10, SOAK, Some(RolloutChange::Completed)),
        (
            "a policy out of its bounds",
            RolloutPolicy { percent: 255, ..policy() },
            10,
            SOAK,
            Some(RolloutChange::Completed),
        ),
        (
            "steps of nothing",
            RolloutPolicy { step_percent: 0, ..policy() },
            10,
            SOAK,
            Some(RolloutChange::Stepped { percent: 11 }),
        ),
    ];
    for (what, policy, calls, at, expected) in cases {
        let mut rollout = begun(&policy);
        assert_eq!(observe(&mut rollout, &policy, times(calls, Answered)), None, "{what}");
        assert_eq!(rollout.advance(&policy, at), expected, "{what}");
    }
}

#[test]
fn a_rollout_goes_on_step_by_step_until_it_judges_all_pods_for_good() {
    let policy = policy();
    let mut rollout = begun(&policy);
    let mut seen = vec![stands(&rollout)];
    for step in 1..=4_u32 {
        assert_eq!(observe(&mut rollout, &policy, times(50, Answered)), None);
        assert_eq!(observe(&mut rollout, &policy, [Failed]), None, "one of 51");
        let change = rollout.advance(&policy, SOAK * step);
        assert!(change.is_some(), "{step}: {rollout:?}");
        seen.push(stands(&rollout));
    }
    assert_eq!(
        seen,
        ["Progressing 10%", "Progressing 50%", "Progressing 90%", "Progressing 100%", "Complete 100%"]
    );
    let done = rollout.clone();
    assert_eq!(observe(&mut rollout, &policy, [times(100, Failed), vec![Quarantined]].concat()), None);
    assert_eq!(rollout.advance(&policy, SOAK * 100), None);
    assert_eq!(rollout, done, "what is complete has no budget");
}

#[test]
fn each_step_has_a_budget_of_its_own() {
    let policy = policy();
    let mut rollout = begun(&policy);
    assert_eq!(observe(&mut rollout, &policy, [times(98, Answered), times(2, Failed)].concat()), None);
    assert_eq!(rollout.advance(&policy, SOAK), Some(RolloutChange::Stepped { percent: 50 }));
    assert_eq!((rollout.calls(), rollout.errors(), rollout.soaked(SOAK)), (0, 0, Duration::ZERO));
    assert_eq!(rollout.advance(&policy, SOAK * 2 - Duration::from_millis(1)), None);
    assert_eq!(observe(&mut rollout, &policy, times(9, Failed)), None, "too few calls again");
    assert!(observe(&mut rollout, &policy, [Failed]).is_some());
}

#[test]
fn what_was_reverted_stays_so_over_restarts() {
    let policy = policy();
    let mut rollout = begun(&policy);
    assert!(observe(&mut rollout, &policy, times(10, Failed)).is_some());
    assert_eq!(observe(&mut rollout, &policy, times(1000, Answered)), None);
    assert_eq!(rollout.advance(&policy, SOAK * 100), None);
    let kept = serde_json::to_string(&rollout.checkpoint()).expect("it has a JSON form");
    let kept = serde_json::from_str(&kept).expect("it is read again");
    let mut again = Rollout::resume(kept, SOAK);
    assert_eq!(stands(&again), stands(&rollout));
    assert_eq!(again.advance(&policy, SOAK * 100), None);
    assert!(!again.judges(0, true), "it judges none, not by its labels either");
}

#[test]
fn a_step_begins_again_after_a_restart() {
    let policy = policy();
    let mut rollout = begun(&policy);
    assert_eq!(observe(&mut rollout, &policy, times(10, Answered)), None);
    assert!(rollout.advance(&policy, SOAK).is_some());
    assert_eq!(observe(&mut rollout, &policy, times(10, Answered)), None);
    let mut again = Rollout::resume(rollout.checkpoint(), Duration::ZERO);
    assert_eq!((stands(&again), again.calls()), ("Progressing 50%".to_owned(), 0));
    assert_eq!(again.advance(&policy, SOAK), None, "it had no calls yet");
    let odd = RolloutCheckpoint { phase: RolloutPhase::Progressing, percent: 200, revert: None };
    assert_eq!(Rollout::resume(odd, Duration::ZERO).percent(), 100);
}

#[test]
fn a_share_grows_without_taking_a_pod_back() {
    let shares = |percent| begun(&RolloutPolicy { percent, ..policy() });
    for percent in 0..=100 {
        let judged = (0..100).filter(|bucket| shares(percent).judges(*bucket, false)).count();
        assert_eq!(judged, usize::from(percent));
        assert!((0..percent).all(|bucket| shares(percent).judges(bucket, false)), "the first ones");
        assert!(shares(percent).judges(99, true), "its labels are enough");
    }
}

fn pod(namespace: &str, name: &str, owner: Option<(&str, &str)>, hash: Option<&str>) -> Pod {
    let owner_references = owner.map(|(kind, name)| {
        let other = OwnerReference { kind: "Node".to_owned(), ..OwnerReference::default() };
        let (kind, name) = (kind.to_owned(), name.to_owned());
        vec![other, OwnerReference { kind, name, controller: Some(true), ..OwnerReference::default() }]
    });
    let labels = hash.map(|hash| [(TEMPLATE_HASH_LABEL.to_owned(), hash.to_owned())].into());
    let (name, namespace) = (Some(name.to_owned()), Some(namespace.to_owned()));
    Pod {
        metadata: ObjectMeta { name, namespace, labels, owner_references, ..ObjectMeta::default() },
        ..Pod::default()
    }
}

#[test]
fn pods_of_one_owner_are_in_one_bucket() {
    let replica = |suffix: &str, hash: &str| {
        let set = format!("web-{hash}");
        pod("shop", &format!("{set}-{suffix}"), Some(("ReplicaSet", &set)), Some(hash))
    };
    let deployment = ("Deployment", "web".to_owned());
    assert_eq!(owner(&replica("abcde", "6f7d")), deployment);
    assert_eq!(owner(&replica("fghij", "9c1b")), deployment, "a Deployment's next revision is its own");
    let cases = [
        (pod("shop", "web-x-1", Some(("ReplicaSet", "web-x")), Some("y")), ("ReplicaSet", "web-x")),
        (pod("shop", "web-x-1", Some(("ReplicaSet", "web-x")), None), ("ReplicaSet", "web-x")),
        (pod("shop", "db-0", Some(("StatefulSet", "db")), None), ("StatefulSet", "db")),
        (pod("shop", "alone", None, Some("x")), ("Pod", "alone")),
    ];
    for (pod, (kind, name)) in cases {
        assert_eq!(owner(&pod), (kind, name.to_owned()));
    }
    let first = bucket("images", &replica("abcde", "6f7d"));
    assert_eq!(first, bucket("images", &replica("fghij", "9c1b")));
}

#[test]
fn buckets_are_the_same_on_every_node_and_in_every_release() {
    let known = ["a", "b", "c", "web-1"].map(|name| bucket("images", &pod("default", name, None, None)));
    assert_eq!(
        known,
        [42, 76, 25, 5],
        "another hash would give pods of one owner two versions while a cluster is upgraded"
    );
    let spread = |handler: &str| -> Vec<u8> {
        (0..2000).map(|number| bucket(handler, &pod("default", &format!("p{number}"), None, None))).collect()
    };
    let (one, other) = (spread("one"), spread("other"));
    assert!(one.iter().chain(&other).all(|bucket| *bucket < 100));
    for ten in 0..10 {
        let count = one.iter().filter(|bucket| **bucket / 10 == ten).count();
        assert!((130..=270).contains(&count), "{count} of 2000 pods are in tenth {ten}");
    }
    let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
    assert!(same < 100, "each rollout has an order of its own, but {same} of 2000 buckets are the same");
}
