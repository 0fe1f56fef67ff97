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

#[test]
fn tries_to_load_a_set_do_not_count_those_over_a_network_that_failed() {
    let mut sets = sets(0, Some(A));
    sets.choose(&chooses(B), seconds(0));
    let mut wait = |refusal| {
        sets.refused(refusal, "x", seconds(0));
        let SetStep::Wait(due) = sets.next(seconds(0)) else { panic!("it waits") };
        due.as_secs()
    };
    let waits = [
        Refusal::NotHad,
        Refusal::NotHad,
        Refusal::NotSigned,
        Refusal::NotLoaded,
        Refusal::NotLoaded,
        Refusal::NotHad,
    ]
    .map(&mut wait);
    assert_eq!(waits, [10, 20, 40, 60, 120, 10]);
    let longest = (0..20).map(|_| wait(Refusal::NotLoaded)).max();
    assert_eq!(longest, Some(3600));
}

#[test]
fn a_set_that_the_policy_does_not_allow_any_more_is_left_whatever_is_chosen() {
    let mut sets = sets(0, Some(A));
    sets.choose(&chooses(A), seconds(0));
    sets.use_policy(policy(&["registry.example.com/*"], 0), seconds(1));
    assert_eq!(sets.next(seconds(1)), SetStep::Nothing, "it is still allowed");
    sets.use_policy(policy(&["other.example.com/*"], 0), seconds(2));
    let news = sets.choose(&chooses(A), seconds(2)).expect("said");
    assert_eq!(news.reason, "PluginSetRefused");
    assert_eq!(sets.next(seconds(2)), SetStep::Leave);
    // Allowed again before that was done.
    sets.use_policy(policy(&["registry.example.com/*"], 0), seconds(2));
    sets.choose(&chooses(A), seconds(2));
    assert_eq!((sets.next(seconds(2)), sets.state()), (SetStep::Nothing, SetState::Running));
    sets.use_policy(policy(&["other.example.com/*"], 0), seconds(3));
    let news = sets.left().expect("said");
    assert!(news.is_warning && news.message.contains("aren't allowed on this node"), "{news:?}");
    sets.choose(&chooses(A), seconds(4));
    assert_eq!((sets.state(), sets.running()), (SetState::NotAllowed, None));
}

#[test]
fn a_set_whose_key_does_not_count_any_more_is_left_and_must_be_signed_to_be_taken_again() {
    let mut sets = sets(0, Some(A));
    sets.choose(&chooses(A), seconds(0));
    sets.distrust("no key has signed it", seconds(1));
    // The same choice, as each change of the node brings it, takes nothing back.
    sets.choose(&chooses(A), seconds(1));
    assert_eq!(sets.next(seconds(1)), SetStep::Leave);
    let news = sets.left().expect("said");
    assert_eq!(news.message, format!("runs the local plugin file in place of {A}: no key has signed it"),);
    sets.choose(&chooses(A), seconds(2));
    assert!(matches!(sets.next(seconds(2)), SetStep::Take(_)));
    sets.refused(Refusal::NotSigned, "no key has signed it", seconds(2));
    assert_eq!((sets.state(), sets.report().running), (SetState::NotSigned, None));
    // Without a set there is nothing to distrust.
    sets.distrust("no key has signed it", seconds(3));
    assert!(matches!(sets.next(seconds(3)), SetStep::Wait(_)));
}

#[test]
fn a_set_runs_on_and_says_so_while_the_local_file_cannot_be_taken() {
    let mut sets = sets(0, Some(A));
    sets.choose(&Choice::Local, seconds(0));
    assert_eq!(sets.next(seconds(0)), SetStep::Leave);
    let news = sets.not_left("plugins.yaml is gone", seconds(0)).expect("said");
    assert_eq!((news.is_warning, news.reason), (true, "PluginSetNotLeft"));
    let message = format!("{A} runs on: plugins.yaml is gone");
    assert_eq!(news.message, message);
    assert_eq!(sets.report(), SetReport { running: Some(A.to_owned()), message: Some(message) });
    assert_eq!((sets.state(), sets.next(seconds(1))), (SetState::NotLeft, SetStep::Wait(seconds(10))));
    // Each change of the node chooses again; the wait goes on.
    sets.choose(&Choice::Local, seconds(2));
    assert_eq!(sets.next(seconds(2)), SetStep::Wait(seconds(10)));
    assert_eq!(sets.not_left("plugins.yaml is gone", seconds(10)), None, "once");
    assert_eq!(sets.next(seconds(10)), SetStep::Wait(seconds(30)));
    // Another set may be taken meanwhile, and ends it.
    sets.choose(&chooses(B), seconds(11));
    assert!(matches!(sets.next(seconds(11)), SetStep::Take(_)));
    sets.taken();
    assert_eq!((sets.state(), sets.next(seconds(12))), (SetState::Running, SetStep::Nothing));
    // So does the set itself, chosen again.
    sets.choose(&Choice::Local, seconds(13));
    sets.not_left("plugins.yaml is gone", seconds(13));
    sets.choose(&chooses(B), seconds(14));
    assert_eq!(sets.report(), SetReport { running: Some(B.to_owned()), message: None });
}

#[test]
fn a_set_that_must_not_serve_gives_way_to_one_that_may_when_the_local_file_cannot_be_taken() {
    let mut sets = sets(0, Some(A));
    sets.distrust("no key has signed it", seconds(0));
    sets.not_left("plugins.yaml is gone", seconds(0));
    sets.choose(&chooses(B), seconds(1));
    assert!(matches!(sets.next(seconds(1)), SetStep::Take(reference) if reference.as_str() == B));
    assert!(sets.report().message.is_some_and(|message| message.contains("(no key has signed it)")));
    sets.taken();
    assert_eq!(sets.next(seconds(1)), SetStep::Nothing);
}

#[test]
fn a_set_that_was_damaged_is_no_change_and_does_not_wait() {
    let digest = A.rsplit_once('@').expect("a digest").1;
    let mut sets = sets(100, None).with_damaged(Some(digest));
    sets.choose(&chooses(A), seconds(0));
    assert!(matches!(sets.next(seconds(0)), SetStep::Take(_)));
    sets.choose(&chooses(B), seconds(0));
    assert!(matches!(sets.next(seconds(0)), SetStep::Wait(_)), "another one is a change");
}

#[test]
fn each_state_has_its_name() {
    let names: std::collections::BTreeSet<&str> =
        SetState::ALL.into_iter().flat_map(|state| [state.as_str(), state.label()]).collect();
    assert_eq!(names.len(), 2 * SetState::ALL.len());
    let mut sets = sets(100, None);
    assert_eq!(sets.state(), SetState::Local);
    sets.choose(&chooses(A), seconds(0));
    assert_eq!(sets.state(), SetState::Waiting);
    for (refusal, state) in [
        (Refusal::NotHad, SetState::NotHad),
        (Refusal::NotSigned, SetState::NotSigned),
        (Refusal::NotLoaded, SetState::NotLoaded),
    ] {
        sets.refused(refusal, "x", seconds(0));
        assert_eq!(sets.state(), state);
    }
    sets.choose(&chooses(ELSEWHERE), seconds(0));
    assert_eq!(sets.state(), SetState::NotAllowed);
}

#[test]
fn a_choice_that_goes_to_and_fro_tries_a_set_no_more_often_than_a_lasting_one() {
    let mut sets = sets(0, Some(A));
    sets.choose(&chooses(B), seconds(0));
    assert!(matches!(sets.next(seconds(0)), SetStep::Take(_)));
    // It was being brought.
    sets.choose(&chooses(A), seconds(1));
    sets.choose(&chooses(B), seconds(2));
    assert_eq!(sets.next(seconds(2)), SetStep::Wait(seconds(11)));
    // What wasn't tried again waits no longer.
    sets.choose(&Choice::Local, seconds(3));
    sets.choose(&chooses(B), seconds(4));
    assert_eq!(sets.next(seconds(4)), SetStep::Wait(seconds(11)));
    assert!(matches!(sets.next(seconds(11)), SetStep::Take(_)));
    sets.refused(Refusal::NotLoaded, "x", seconds(11));
    sets.choose(&chooses(ELSEWHERE), seconds(12));
    sets.choose(&chooses(B), seconds(13));
    assert_eq!(sets.next(seconds(13)), SetStep::Wait(seconds(22)), "and not a minute");
    // As many as are remembered, and not more.
    let named = |number: u32| chooses(&format!("{}{number:04}", &A[..A.len() - 4]));
    for number in 100..100 + 20 {
        sets.choose(&named(number), seconds(30));
    }
    sets.choose(&chooses(A), seconds(30));
    let mut due = |number| {
        sets.choose(&named(number), seconds(31));
        sets.next(seconds(31))
    };
    assert_eq!(due(119), SetStep::Wait(seconds(40)));
    assert!(matches!(due(100), SetStep::Take(_)));
}
