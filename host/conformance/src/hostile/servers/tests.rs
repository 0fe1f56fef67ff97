//! Which success comes from nothing.

use super::*;

#[test]
fn success_from_nothing_is_reported_and_success_of_a_connection_is_not() {
    use Behaviour::{Close, Endless, Garbage, Refuse, Reset, Silent};
    let cases: [(&[Behaviour], bool, Option<&str>); 7] = [
        (&[], false, None),
        (&[Refuse], false, Some("a server that refuses")),
        // Connects, and that is all.
        (&[Reset, Close, Silent, Garbage, Endless], false, None),
        (&[Silent], false, Some("a server that says nothing")),
        (&[Silent, Close], false, Some("a server that says nothing")),
        (&[Garbage, Endless], false, None),
        (&[Reset], true, Some("a server that resets")),
    ];
    for (behaviours, datagrams, expected) in cases {
        let named = |behaviour: &Behaviour| {
            let (name, _) = HARM.iter().find(|(_, other)| other == behaviour).expect("a harm");
            (*name, *behaviour, "success: ".to_owned())
        };
        let passed: Vec<_> = behaviours.iter().map(named).collect();
        let seen = from_nothing(&passed, datagrams);
        let reported = expected.map(|harm| format!("with {harm}: success: "));
        assert_eq!(seen, reported, "{behaviours:?}");
    }
}

#[test]
fn the_hosts_words_tell_that_a_probe_was_cut() {
    let failed = |detail: &str| Ok(PluginResponse::new(ResponseKind::Failure, detail));
    assert!(was_cut(&failed("no answer within 600ms")));
    assert!(!was_cut(&failed("read tcp 127.0.0.1:1: i/o timeout")));
}
