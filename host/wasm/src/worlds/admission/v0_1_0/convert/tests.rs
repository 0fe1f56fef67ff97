//! Verdicts and facts on their way across.

use super::*;

fn rejection(reason: &str) -> wit::Verdict {
    wit::Verdict::Reject(wit::Rejection { reason: reason.to_owned(), message: "a sentence".to_owned() })
}

#[test]
fn verdicts_that_the_contract_allows_are_taken() {
    let message = || "a sentence".to_owned();
    let reason = || "Reason1".to_owned();
    let cases = [
        (wit::Verdict::Admit, Verdict::Admit),
        (rejection("Reason1"), Verdict::Reject { reason: reason(), message: message() }),
        (
            wit::Verdict::Defer(wit::Deferral {
                reason: reason(),
                message: message(),
                retry_after_milliseconds: u64::MAX,
            }),
            Verdict::Defer {
                reason: reason(),
                message: message(),
                retry_after: Duration::from_millis(u64::MAX),
            },
        ),
        (
            wit::Verdict::Shortage(vec![wit::Shortage {
                resource: "cpu".to_owned(),
                requested: 1,
                used: 2,
                capacity: 3,
            }]),
            Verdict::Shortage(vec![Shortage {
                resource: "cpu".to_owned(),
                requested: 1,
                used: 2,
                capacity: 3,
            }]),
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(verdict(given), Ok(expected));
    }
}

#[test]
fn verdicts_that_the_contract_forbids_are_reported() {
    let shortage =
        |resource: &str| wit::Shortage { resource: resource.to_owned(), requested: 1, used: 1, capacity: 1 };
    let cases = [
        (rejection(""), WordFault::Empty.into()),
        (rejection("not a word"), WordFault::NoWord("not a word".to_owned()).into()),
        (rejection("1st"), WordFault::NoWord("1st".to_owned()).into()),
        (rejection(&"A".repeat(129)), WordFault::Long { length: 129, limit: 128 }.into()),
        (wit::Verdict::Shortage(Vec::new()), VerdictFault::NoShortage),
        (wit::Verdict::Shortage(vec![shortage("")]), VerdictFault::UnnamedShortage),
        (
            wit::Verdict::Shortage(vec![shortage("cpu\u{1b}[2J\nroot")]),
            VerdictFault::NoResource("cpu\u{1b}[2J\nroot".to_owned()),
        ),
        (wit::Verdict::Shortage(vec![shortage("cpu"); 65]), VerdictFault::ManyShortages(65)),
    ];
    for (given, expected) in cases {
        assert_eq!(verdict(given), Err(expected));
    }
}

#[test]
fn long_messages_are_cut_between_letters() {
    let long = "ä".repeat(MESSAGE_BYTES_MAX);
    let Ok(Verdict::Reject { message, .. }) =
        verdict(wit::Verdict::Reject(wit::Rejection { reason: "R".to_owned(), message: long }))
    else {
        panic!("a long message is no fault")
    };
    assert_eq!(message.len(), MESSAGE_BYTES_MAX + '…'.len_utf8());
    assert!(message.ends_with("ä…"));
}

#[test]
fn times_before_1970_have_nanoseconds_that_count_up() {
    let before = Timestamp::from_nanosecond(-1).expect("in range");
    let wit::Datetime { seconds, nanoseconds } = datetime(before);
    assert_eq!((seconds, nanoseconds), (-1, 999_999_999));
}

#[test]
fn containers_come_in_the_order_of_the_contract() {
    let pod: Pod = serde_json::from_value(serde_json::json!({
        "metadata": {},
        "spec": {
            "initContainers": [
                {"name": "first", "image": "a"},
                {"name": "beside", "image": "b", "restartPolicy": "Always"},
            ],
            "containers": [{"name": "app"}],
            "ephemeralContainers": [{"name": "debug", "image": "d"}],
        }
    }))
    .expect("a pod");
    let seen: Vec<_> = containers(&pod)
        .into_iter()
        .map(|container| (container.name, container.kind, container.image))
        .collect();
    let expected = [
        ("first", wit::ContainerKind::Init, "a"),
        ("beside", wit::ContainerKind::Sidecar, "b"),
        ("app", wit::ContainerKind::App, ""),
        ("debug", wit::ContainerKind::Ephemeral, "d"),
    ]
    .map(|(name, kind, image)| (name.to_owned(), kind, image.to_owned()));
    assert_eq!(seen, expected);
}
