//! What counts as an answer, and what is wrong with others.

use super::*;

type Saying = fn(&mut SourceSink);

fn finished(saying: &[Saying]) -> Result<PollResponse, PollFault> {
    let mut sink = SourceSink::default();
    saying.iter().for_each(|say| say(&mut sink));
    sink.finish()
}

fn pods(names: &[&str]) -> Snapshot {
    Snapshot::Pods(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn one_thing_is_said_of_a_source() {
    let (pod, empty, unchanged): (Saying, Saying, Saying) =
        (|sink| sink.pod("a".to_owned()), SourceSink::empty, SourceSink::unchanged);
    let cursor: Saying = |sink| sink.set_cursor("7".to_owned());
    let soon: Saying = |sink| sink.set_next_poll(Duration::from_secs(2));
    let response = |snapshot, cursor: Option<&str>, next_poll| {
        Ok(PollResponse { snapshot, cursor: cursor.map(str::to_owned), next_poll })
    };
    let fault = |words: &str| Err(PollFault::NotSaid(words.to_owned()));
    let cases: [(&[Saying], _); 8] = [
        (&[pod], response(pods(&["a"]), None, None)),
        (&[pod, pod], response(pods(&["a", "a"]), None, None)),
        (&[empty, cursor, soon], response(Snapshot::Empty, Some("7"), Some(Duration::from_secs(2)))),
        (&[unchanged], response(Snapshot::Unchanged, None, None)),
        (&[cursor], fault("it answered nothing: an answer is one of pod, empty, unchanged")),
        (&[pod, empty], fault("it answered pod, and then empty")),
        (&[unchanged, pod, pod], fault("it answered unchanged, and then pod")),
        (&[empty, empty], fault("it answered empty, and then empty")),
    ];
    for (saying, expected) in cases {
        assert_eq!(finished(saying), expected);
    }
}

#[test]
fn sets_and_cursors_are_bounded() {
    let many: Saying = |sink| (0..=MANIFESTS_MAX).for_each(|_| sink.pod(String::new()));
    assert_eq!(finished(&[many]), Err(PollFault::ManyPods(MANIFESTS_MAX + 1)));
    let large: Saying = |sink| (0..3).for_each(|_| sink.pod("x".repeat(SET_BYTES_MAX / 2)));
    assert_eq!(finished(&[large]), Err(PollFault::LargeSet));
    let long: Saying = |sink| sink.set_cursor("x".repeat(CURSOR_BYTES_MAX + 1));
    assert_eq!(finished(&[SourceSink::empty, long]), Err(PollFault::LongCursor(CURSOR_BYTES_MAX + 1)));
}
