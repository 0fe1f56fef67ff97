//! Contexts in headers.

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn read(value: &str) -> Option<String> {
    let incoming = Incoming::of(|name| (name == TRACEPARENT).then_some(value));
    incoming.parent.as_ref().map(traceparent)
}

#[test]
fn a_traceparent_is_taken_as_upstream_takes_it() {
    let good = |flags: &str| Some(format!("00-{TRACE}-{SPAN}-{flags}"));
    let cases = [
        (format!("00-{TRACE}-{SPAN}-01"), good("01")),
        (format!("00-{TRACE}-{SPAN}-00"), good("00")),
        // Random ids without sampling; with it upstream refuses them.
        (format!("00-{TRACE}-{SPAN}-02"), good("00")),
        (format!("00-{TRACE}-{SPAN}-03"), None),
        // A later version may have more parts and flags.
        (format!("01-{TRACE}-{SPAN}-09-more"), good("01")),
        (format!("cc-{TRACE}-{SPAN}-01"), good("01")),
        (format!("ff-{TRACE}-{SPAN}-01"), None),
        (format!("00-{TRACE}-{SPAN}-01-more"), None),
        (format!("00-{TRACE}-{SPAN}-01-"), None),
        (format!("00-{TRACE}-{SPAN}"), None),
        (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
        (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
        (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
        (format!("00-{}-{SPAN}-01", &TRACE[1..]), None),
        (format!("00-+{}-{SPAN}-01", &TRACE[1..]), None),
        (format!("0-{TRACE}-{SPAN}-01"), None),
        (String::new(), None),
        ("-".repeat(100), None),
        ("ä".repeat(60), None),
    ];
    for (value, expected) in cases {
        assert_eq!(read(&value), expected, "{value:?}");
    }
}

#[test]
fn state_and_baggage_are_passed_on_within_their_bounds() {
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let with = |state: &str, baggage: &str| {
        let incoming = Incoming::of(|name| match name {
            TRACEPARENT => Some(&*parent),
            TRACESTATE => Some(state),
            _ => Some(baggage),
        });
        let state = incoming.parent.and_then(|parent| parent.state);
        (state.map(|state| state.to_string()), incoming.baggage.map(|baggage| baggage.to_string()))
    };
    let kept = |text: &str| Some(text.to_owned());
    assert_eq!(
        with("vendor=1,other=2", "user=anna;ttl=3, b="),
        (kept("vendor=1,other=2"), kept("user=anna;ttl=3, b="))
    );
    assert_eq!(with("vendor", "user"), (None, None));
    assert_eq!(with("", ""), (None, None));
    assert_eq!(with("a=\u{1}", "a=\n1"), (None, None));
    assert_eq!(with(&format!("a={}", "x".repeat(STATE_BYTES_MAX)), "a=1"), (None, kept("a=1")));
    assert_eq!(with(&vec!["a=1"; STATE_MEMBERS_MAX + 1].join(","), ",=1"), (None, None));
    assert_eq!(with("a=1", &format!("a={}", "x".repeat(BAGGAGE_BYTES_MAX))), (kept("a=1"), None));
}

#[test]
fn state_without_a_parent_is_none() {
    let incoming = Incoming::of(|name| (name == TRACESTATE).then_some("vendor=1"));
    assert_eq!(incoming, Incoming::default());
}
