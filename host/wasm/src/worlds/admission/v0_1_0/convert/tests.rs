//! Verdicts and facts on their way across.

use super::super::super::MESSAGE_BYTES_MAX;
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
        assert_eq!(verdict(given), Reply::Answer(expected));
    }
}

fn lacking(resource: &str) -> wit::Shortage {
    wit::Shortage { resource: resource.to_owned(), requested: 1, used: 1, capacity: 1 }
}

#[test]
fn a_refusal_with_a_text_that_the_contract_forbids_stays_a_refusal() {
    let reject = |reason: &str| {
        let message = "a sentence".to_owned();
        Verdict::Reject { reason: reason.to_owned(), message }
    };
    let out_of = |resource: &str| {
        let resource = resource.to_owned();
        Verdict::Shortage(vec![Shortage { resource, requested: 1, used: 1, capacity: 1 }])
    };
    let shortage = |resource: &str| wit::Verdict::Shortage(vec![lacking(resource)]);
    let deferral = wit::Verdict::Defer(wit::Deferral {
        reason: "\u{202e}".to_owned(),
        message: "later".to_owned(),
        retry_after_milliseconds: 7,
    });
    let deferred = Verdict::Defer {
        reason: "Deferred".to_owned(),
        message: "later".to_owned(),
        retry_after: Duration::from_millis(7),
    };
    let cases = [
        (rejection(""), reject("Rejected"), "the reason is empty"),
        (rejection("not a word"), reject("NotAWord"), "the reason \"not a word\" isn't a CamelCase word"),
        (rejection("1st"), reject("Rejected1st"), "the reason \"1st\" isn't a CamelCase word"),
        (rejection(&"A".repeat(129)), reject(&"A".repeat(128)), "the reason has 129 bytes, more than 128"),
        (deferral, deferred, "the reason \"\\u{202e}\" isn't a CamelCase word"),
        (shortage(""), out_of("resource"), "a shortage names no resource"),
        (
            shortage(&"a".repeat(200)),
            out_of(&"a".repeat(128)),
            "a shortage names a resource with 200 bytes, more than 128",
        ),
        (
            shortage("cpu\u{1b}[2J\nroot"),
            out_of("cpu2Jroot"),
            "a shortage is of \"cpu\\u{1b}[2J\\nroot\", which is no resource's name",
        ),
    ];
    for (given, answer, fault) in cases {
        assert_eq!(verdict(given), Reply::Sanitized { answer, fault: fault.to_owned() });
    }
}

#[test]
fn shortages_that_are_no_list_are_reported() {
    let cases = [
        (Vec::new(), "the list of shortages is empty"),
        (vec![lacking("cpu"); 65], "65 shortages are more than 64"),
    ];
    for (given, fault) in cases {
        assert_eq!(verdict(wit::Verdict::Shortage(given)), Reply::Malformed(fault.to_owned()));
    }
}

#[test]
fn long_messages_are_cut_between_letters() {
    let long = "ä".repeat(MESSAGE_BYTES_MAX);
    let Reply::Answer(Verdict::Reject { message, .. }) =
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
                {"name": "sidecar", "image": "b", "restartPolicy": "Always"},
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
        ("sidecar", wit::ContainerKind::Sidecar, "b"),
        ("app", wit::ContainerKind::App, ""),
        ("debug", wit::ContainerKind::Ephemeral, "d"),
    ]
    .map(|(name, kind, image)| (name.to_owned(), kind, image.to_owned()));
    assert_eq!(seen, expected);
}
