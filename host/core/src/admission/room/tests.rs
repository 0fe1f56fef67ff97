//! Decisions beside pods that end for others.

use super::*;
use crate::pod::PodUid;

const IDLE: Room = Room { another_waits: false, pods_end: false, victims_left: 0, victims_ending: 0 };

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Admit => "admit",
        Decision::Reject { .. } => "reject",
        Decision::Preempt { .. } => "preempt",
        Decision::Defer { reason, message, retry_after } => {
            assert!(reason != REASON || (message == "words" && *retry_after == ASK_AGAIN_AFTER));
            if reason == REASON { "wait" } else { "defer" }
        }
    }
}

#[test]
fn nobody_is_refused_and_one_at_a_time_is_made_room_for() {
    let message = || "words".to_owned();
    let admit = Decision::Admit;
    let reject = Decision::Reject { reason: "OutOfcpu".to_owned(), message: message() };
    let defer =
        Decision::Defer { reason: "Later".to_owned(), message: message(), retry_after: Duration::ZERO };
    let preempt = Decision::Preempt { victims: vec![PodUid::from("v")], message: message() };
    let pods_end = Room { pods_end: true, ..IDLE };
    let another = Room { another_waits: true, ..IDLE };
    let victims = |room: Room, victims_left, victims_ending| Room { victims_left, victims_ending, ..room };
    let cases = [
        ("nothing is going on", &admit, IDLE, "admit"),
        ("nothing is going on", &reject, IDLE, "reject"),
        ("nothing is going on", &defer, IDLE, "defer"),
        ("there is room beside all", &admit, pods_end, "admit"),
        ("there is room beside all", &admit, another, "admit"),
        ("it may fit once they are gone", &reject, pods_end, "wait"),
        ("it may fit once it is known who stays", &reject, another, "wait"),
        ("the handler's wish stands", &defer, pods_end, "defer"),
        ("they can be ended", &preempt, victims(IDLE, 2, 0), "preempt"),
        ("some of them end by themselves", &preempt, victims(IDLE, 2, 1), "preempt"),
        ("they have gone meanwhile", &preempt, victims(IDLE, 0, 0), "wait"),
        ("its own victims still end", &preempt, victims(pods_end, 2, 2), "preempt"),
        ("more than those that end", &preempt, victims(pods_end, 2, 1), "wait"),
        ("another pod's turn", &preempt, victims(another, 2, 0), "wait"),
        ("another pod's victims", &preempt, Room { another_waits: true, ..victims(pods_end, 1, 1) }, "wait"),
    ];
    for (why, decision, room, expected) in cases {
        assert_eq!(word(&beside(decision.clone(), room)), expected, "{why}: {decision:?} {room:?}");
    }
}
