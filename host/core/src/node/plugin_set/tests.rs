//! Choices, delays, and what follows from each.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;

const A: &str = "oci://registry.example.com/fleet/plugins:1@sha256:0000000000000000000000000000000000000000000000000000000000000001";
const B: &str = "oci://registry.example.com/fleet/plugins:2@sha256:0000000000000000000000000000000000000000000000000000000000000002";
const ELSEWHERE: &str =
    "evil.example.com/plugins@sha256:0000000000000000000000000000000000000000000000000000000000000003";

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn policy(repositories: &[&str], jitter: u64) -> SetPolicy {
    let repositories = repositories.iter().map(|text| (*text).to_owned()).collect();
    SetPolicy { repositories, jitter: seconds(jitter) }
}

fn sets(jitter: u64, ran: Option<&str>) -> PluginSets {
    PluginSets::new("node-1", policy(&["registry.example.com/fleet/*"], jitter), ran)
}

fn chooses(text: &str) -> Choice {
    Choice::Set(text.to_owned())
}

fn annotated(pairs: &[(&str, &str)]) -> Node {
    let annotations = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let annotations = Some(annotations.collect());
    Node { metadata: ObjectMeta { annotations, ..ObjectMeta::default() }, ..Node::default() }
}

#[test]
fn a_choice_is_the_annotation_and_an_unknown_node_chooses_nothing() {
    let cases = [
        (None, Choice::Unknown),
        (Some(Node::default()), Choice::Local),
        (Some(annotated(&[("other", A)])), Choice::Local),
        (Some(annotated(&[(CHOICE, "  ")])), Choice::Local),
        (Some(annotated(&[(CHOICE, &format!(" {A}\n"))])), chooses(A)),
    ];
    for (node, expected) in cases {
        assert_eq!(choice(node.as_ref()), expected);
    }
}

#[test]
fn only_sets_by_digest_of_allowed_repositories_are_taken() {
    let is_allowed = |text: &str, repositories: &[&str]| allowed(text, &policy(repositories, 0)).is_ok();
    let bare = &A["oci://".len()..];
    let cases = [
        (A, vec!["registry.example.com/fleet/plugins"], true),
        (bare, vec!["registry.example.com/fleet/plugins"], true),
        (A, vec!["other.example.com/*", "registry.example.com/*"], true),
        (A, vec!["registry.example.com/fleet/*"], true),
        (A, vec!["registry.example.com/fleet/plugins/*"], false),
        (A, vec!["registry.example.com/flee*"], false),
        (A, vec!["registry.example.com/flee/*"], false),
        (A, vec!["registry.example.com"], false),
        (A, vec![], false),
        ("registry.example.com/fleet/plugins:1", vec!["registry.example.com/*"], false),
        ("fleet/plugins@sha256:00", vec!["docker.io/*"], false),
        ("no reference", vec!["*"], false),
    ];
    for (text, repositories, expected) in cases {
        assert_eq!(is_allowed(text, &repositories), expected, "{text} with {repositories:?}");
    }
    let short = format!("fleet/plugins@{}", "sha256:".to_owned() + &"0".repeat(64));
    assert!(matches!(allowed(&short, &policy(&["docker.io/*"], 0)), Err(ChoiceError::Reference { .. })));
    assert_eq!(allowed(&"x".repeat(2000), &policy(&[], 0)), Err(ChoiceError::TooLong));
    assert_eq!(allowed(bare, &policy(&["registry.example.com/*"], 0)).map(|it| it.text), Ok(A.to_owned()));
}

#[test]
fn a_delay_is_the_same_each_time_and_spreads_nodes_over_the_whole_of_the_jitter() {
    let jitter = seconds(100);
    assert_eq!(delay("node-1", "sha256:1", jitter), delay("node-1", "sha256:1", jitter));
    assert_ne!(delay("node-1", "sha256:1", jitter), delay("node-1", "sha256:2", jitter));
    assert_eq!(delay("node-1", "sha256:1", Duration::ZERO), Duration::ZERO);
    let mut tenths = [0; 10];
    for node in 0..1000 {
        let delay = delay(&format!("node-{node}"), "sha256:1", jitter);
        assert!(delay < jitter);
        tenths[usize::try_from(delay.as_secs() / 10).expect("small")] += 1;
    }
    assert!(tenths.iter().all(|count| (50..200).contains(count)), "{tenths:?}");
    assert!(delay("node-1", "sha256:1", Duration::MAX) < JITTER_MAX);
}

#[test]
fn a_chosen_set_is_taken_after_its_delay_and_written_back() {
    let mut sets = sets(100, None);
    assert_eq!(sets.next(seconds(0)), SetStep::Nothing);
    assert_eq!(sets.choose(&chooses(A), seconds(7)), None);
    let reference = allowed(A, &policy(&["registry.example.com/*"], 0)).expect("allowed");
    let due = seconds(7) + delay("node-1", reference.digest(), seconds(100));
    assert_eq!(sets.next(seconds(7)), SetStep::Wait(due));
    let waits = sets.report();
    assert_eq!(waits.running, None);
    assert_eq!(waits.message, Some(format!("{A} is taken at most 100s after it was chosen")));
    // The same choice again, as each change of the node brings it, doesn't begin the delay again.
    assert_eq!(sets.choose(&chooses(A), seconds(50)), None);
    assert_eq!(sets.next(due), SetStep::Take(reference));
    let news = sets.taken().expect("news");
    assert_eq!((news.is_warning, news.reason), (false, "PluginSetTaken"));
    assert_eq!(news.message, format!("runs {A} in place of the local plugin file"));
    assert_eq!(sets.next(seconds(1000)), SetStep::Nothing);
    assert_eq!(sets.report(), SetReport { running: Some(A.to_owned()), message: None });
}

#[test]
fn a_set_that_is_refused_leaves_the_one_before_running_is_said_once_and_tried_again() {
    let mut sets = sets(0, Some(A));
    assert_eq!(sets.choose(&chooses(A), seconds(0)), None);
    assert_eq!(sets.next(seconds(0)), SetStep::Nothing, "it runs");
    sets.choose(&chooses(B), seconds(0));
    let mut now = seconds(0);
    let mut tries = Vec::new();
    for _ in 0..7 {
        assert!(matches!(sets.next(now), SetStep::Take(reference) if reference.as_str() == B));
        let news = sets.refused(Refusal::NotHad, "the registry is gone", now);
        assert_eq!(news.is_some(), tries.is_empty(), "once");
        let SetStep::Wait(due) = sets.next(now) else { panic!("it waits") };
        tries.push((due - now).as_secs());
        now = due;
    }
    assert_eq!(tries, [10, 20, 40, 80, 160, 300, 300]);
    let message = Some(format!("{B}: the registry is gone"));
    assert_eq!(sets.report(), SetReport { running: Some(A.to_owned()), message });
    let news = sets.refused(Refusal::NotLoaded, "it doesn't compile", now).expect("another reason");
    assert!(news.is_warning && news.reason == "PluginSetRefused", "{news:?}");
    sets.choose(&chooses(A), now);
    assert_eq!(sets.report(), SetReport { running: Some(A.to_owned()), message: None }, "back again");
    assert_eq!(sets.next(now), SetStep::Nothing);
}

#[test]
fn a_choice_that_is_not_allowed_changes_nothing_and_says_why_once() {
    let mut sets = sets(0, Some(A));
    let news = sets.choose(&chooses(ELSEWHERE), seconds(0)).expect("said");
    assert_eq!(news.reason, "PluginSetRefused");
    assert_eq!(
        news.message,
        "sets of evil.example.com/plugins aren't allowed on this node: its policy (--plugin-sets) allows registry.example.com/fleet/*"
    );
    assert_eq!(sets.choose(&chooses(ELSEWHERE), seconds(1)), None);
    assert_eq!(sets.next(seconds(1)), SetStep::Nothing);
    assert_eq!(sets.report(), SetReport { running: Some(A.to_owned()), message: Some(news.message) });
}

#[test]
fn without_a_choice_the_local_file_serves_again_at_once() {
    let mut sets = sets(100, Some(A));
    assert_eq!(sets.choose(&Choice::Unknown, seconds(0)), None);
    assert_eq!(sets.next(seconds(0)), SetStep::Nothing, "an API server that is gone changes nothing");
    sets.choose(&Choice::Local, seconds(1));
    assert_eq!(sets.next(seconds(1)), SetStep::Leave);
    let news = sets.left().expect("news");
    assert_eq!(news.message, format!("runs the local plugin file in place of {A}"));
    assert_eq!((sets.next(seconds(2)), sets.report()), (SetStep::Nothing, SetReport::default()));
    // What was never taken is forgotten without a word.
    sets.choose(&chooses(B), seconds(3));
    sets.choose(&Choice::Local, seconds(4));
    assert_eq!((sets.next(seconds(1000)), sets.left()), (SetStep::Nothing, None));
}

#[test]
fn a_set_runs_on_after_a_restart_only_if_the_policy_still_allows_it() {
    let ran = |repository: &str| {
        let sets = PluginSets::new("node-1", policy(&[repository], 0), Some(A));
        sets.running().map(|reference| reference.as_str().to_owned())
    };
    assert_eq!(ran("registry.example.com/*"), Some(A.to_owned()));
    assert_eq!(ran("other.example.com/*"), None);
}

#[test]
fn a_report_is_written_into_annotations_and_taken_out_again() {
    let report = SetReport { running: Some(A.to_owned()), message: Some("why".to_owned()) };
    let mut node = annotated(&[("others", "x"), (CHOICE, B)]);
    report.write(&mut node);
    assert_eq!(SetReport::of(&node), report);
    SetReport::default().write(&mut node);
    assert_eq!(node, annotated(&[("others", "x"), (CHOICE, B)]));
    let mut bare = Node::default();
    SetReport::default().write(&mut bare);
    assert_eq!(bare, Node::default());
}
