//! Tables and properties of delayed rejections, on times that are given.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{at, pod, property};

const CONFIGURED: Option<&str> = Some("team-label");

fn owner(kind: &str, name: &str, is_controller: Option<bool>) -> OwnerReference {
    OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        controller: is_controller,
        ..OwnerReference::default()
    }
}

/// Notes rejections for one controller at these seconds. Returns the delays in seconds.
fn delays(seconds: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut history = RejectionHistory::default();
    let mut note = |second| history.note("a", Duration::from_secs(second)).delay.as_secs();
    seconds.into_iter().map(&mut note).collect()
}

#[test]
fn the_first_rejection_is_published_at_once_and_each_further_one_waits_twice_as_long_up_to_5_minutes() {
    let table: Vec<u64> = (1..=13).map(|nth| delay(nth).as_secs()).collect();
    assert_eq!(table, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    assert_eq!(delays([0; 13]), table, "pods that are rejected at the same time count each");
    assert_eq!((delay(0), delay(u32::MAX)), (Duration::ZERO, DELAY.max));
}

#[test]
fn a_controller_is_forgotten_10_minutes_after_its_last_rejection_was_published() {
    let cases: [(&str, &[u64], &[u64]); 5] = [
        ("just not", &[0, 599], &[0, 1]),
        ("just so", &[0, 600], &[0, 0]),
        ("counted from the publication", &[0, 0, 600], &[0, 1, 2]),
        ("not from the decision", &[0, 0, 601], &[0, 1, 0]),
        ("it begins again", &[0, 0, 0, 700, 700, 700], &[0, 1, 2, 0, 1, 2]),
    ];
    for (what, seconds, expected) in cases {
        assert_eq!(delays(seconds.iter().copied()), expected, "{what}");
    }
}

#[test]
fn a_controller_that_replaces_its_pod_at_once_has_one_rejected_each_5_minutes_in_the_end() {
    let (mut history, mut now, mut published) = (RejectionHistory::default(), Duration::ZERO, Vec::new());
    while now < Duration::from_secs(3600) {
        now += history.note("a", now).delay;
        published.push(now.as_secs());
    }
    let within = |seconds: u64| published.iter().filter(|at| **at <= seconds).count();
    assert_eq!((within(60), within(600), within(3600)), (6, 10, 20));
}

#[test]
fn each_controller_has_rejections_of_its_own() {
    let mut history = RejectionHistory::default();
    let mut note = |uid| history.note(uid, Duration::ZERO);
    let nth = ["a", "a", "b", "a", "b"].map(|uid| note(uid).nth);
    assert_eq!(nth, [1, 2, 1, 3, 2]);
}

#[test]
fn a_bounded_number_of_controllers_is_remembered_and_the_one_without_a_rejection_for_longest_goes() {
    let mut history = RejectionHistory::default();
    let second = Duration::from_secs;
    for n in 0..OWNERS_MAX as u64 {
        history.note(&format!("owner-{n}"), second(n / 10));
    }
    history.note("owner-0", second(110));
    assert_eq!(history.note("another", second(120)).nth, 1);
    assert_eq!(history.owners.len(), OWNERS_MAX);
    assert_eq!(history.note("owner-0", second(120)).nth, 3, "it had one lately");
    assert_eq!(history.note("owner-2", second(120)).nth, 2);
    assert_eq!(history.note("owner-1", second(120)).nth, 1, "it was the first without one");
    assert_eq!(history.owners.len(), OWNERS_MAX);
    history.note("late", second(5000));
    assert_eq!(history.owners.len(), 1, "those that are over go first");
}

#[test]
fn a_clock_that_jumps_makes_no_delay_longer_than_the_longest() {
    assert_eq!(delays([1000, 1000, 1000, 0, 0, 10]), [0, 1, 2, 4, 8, 16], "back");
    assert_eq!(delays([0, 0, 0, u64::MAX, u64::MAX]), [0, 1, 2, 0, 1], "far ahead");
}

#[test]
fn only_rejections_by_configured_handlers_of_pods_that_are_made_again_wait() {
    let of = |owners: &[OwnerReference], source: Option<&str>| {
        let mut pod = pod("Always", &["app"]);
        pod.metadata.owner_references = Some(owners.to_vec());
        pod.metadata.annotations =
            source.map(|source| [("kubernetes.io/config.source".into(), source.into())].into());
        pod
    };
    let set = owner("ReplicaSet", "web", Some(true));
    let guest = owner("Node", "guest", None);
    let all = [guest.clone(), owner("Service", "other", Some(false)), set.clone()];
    /// What it shows, the owners, the source, the handler, and the owner that it counts for.
    type Case<'a> = (&'a str, &'a [OwnerReference], Option<&'a str>, Option<&'a str>, Option<&'a str>);
    let cases: [Case<'_>; 7] = [
        ("a controller's", std::slice::from_ref(&set), Some("api"), CONFIGURED, Some("uid-of-web")),
        (
            "of an API server, though nothing says so",
            std::slice::from_ref(&set),
            None,
            CONFIGURED,
            Some("uid-of-web"),
        ),
        ("the controller among several owners", &all, Some("api"), CONFIGURED, Some("uid-of-web")),
        ("a shipped handler", std::slice::from_ref(&set), Some("api"), None, None),
        ("static", std::slice::from_ref(&set), Some("file"), CONFIGURED, None),
        ("no owner", &[], Some("api"), CONFIGURED, None),
        ("owners that don't make it again", &all[..2], Some("api"), CONFIGURED, None),
    ];
    for (what, owners, source, handler, expected) in cases {
        let pod = of(owners, source);
        let counts = counts_for(&pod, handler).map(|owner| owner.uid.as_str());
        assert_eq!(counts, expected, "{what}");
    }
}

#[test]
fn the_message_names_handler_reason_controller_and_time() {
    let owner = owner("ReplicaSet", "web-7d4b", Some(true));
    let published = at(8) + Duration::from_millis(250);
    let text = message("team-label", ("TeamMissing", "the pod has no label team"), (&owner, 5), published);
    assert_eq!(
        text,
        format!(
            "Admission handler team-label rejected the pod: TeamMissing: the pod has no label team. The pod fails at {}, \
             because this is rejection 5 of pods of ReplicaSet web-7d4b on this node",
            at(8)
        )
    );
}

proptest! {
    #![proptest_config(property(64))]

    /// Whatever the order of controllers and times, be it of a clock that is set.
    #[test]
    fn delays_and_controllers_are_bounded_and_delays_grow_while_a_controller_is_remembered(
        notes in proptest::collection::vec((0u8..4, 0u64..2000), 0..200),
    ) {
        let mut history = RejectionHistory::default();
        let mut last: HashMap<u8, NotedRejection> = HashMap::new();
        for (owner, second) in notes {
            let noted = history.note(&owner.to_string(), Duration::from_secs(second));
            prop_assert!(noted.delay <= DELAY.max);
            prop_assert_eq!(noted.delay, delay(noted.nth));
            let before = last.insert(owner, noted);
            let goes_on = before.is_some_and(|before| noted.nth == before.nth + 1 && noted.delay >= before.delay);
            prop_assert!(goes_on || (noted.nth == 1 && noted.delay.is_zero()));
            prop_assert!(history.owners.len() <= 4);
        }
    }
}
