//! Tests of the board.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use witlet_core::status::{NodeEnd, ended_by_node};
use witlet_ports::Clock;

use super::*;

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn board() -> Board {
    Board::new(Arc::new(EventLog::new(Arc::new(Standing))))
}

fn pod(name: &str, uid: &str) -> Arc<Pod> {
    let metadata = ObjectMeta { name: Some(name.into()), uid: Some(uid.into()), ..ObjectMeta::default() };
    Arc::new(Pod { metadata, spec: None, status: None })
}

fn phase(phase: &str) -> PodStatus {
    PodStatus { phase: Some(phase.into()), ..PodStatus::default() }
}

#[test]
fn pods_are_shown_with_their_newest_status_ordered_by_name() {
    let board = board();
    let [a, b] = [PodUid::from("1"), PodUid::from("2")];
    board.put_pod(&a, pod("b", "1"));
    board.put_pod(&b, pod("a", "2"));
    assert!(board.put_status(&a, phase("Pending")));
    assert!(board.put_status(&a, phase("Running")));
    assert!(!board.put_status(&a, phase("Running")), "the same again is no change");
    board.put_pod(&a, pod("b", "1"));
    let shown: Vec<_> = board
        .pods()
        .iter()
        .map(|pod| (pod.metadata.name.clone(), pod.status.as_ref().and_then(|s| s.phase.clone())))
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(shown, [(text("a"), None), (text("b"), text("Running"))]);
}

#[test]
fn a_pod_that_is_not_shown_gets_no_status() {
    let board = board();
    let uid = PodUid::from("1");
    assert!(!board.put_status(&uid, phase("Running")));
    board.put_pod(&uid, pod("a", "1"));
    board.remove(&uid);
    assert!(!board.put_status(&uid, phase("Running")));
    assert_eq!(board.status(&uid), None);
    assert_eq!(board.uids(), []);
}

#[test]
fn a_status_is_revised_where_it_stands_and_only_the_agents_own() {
    let board = board();
    let uid = PodUid::from("u1");
    let failed = |_: &Pod, _: &PodStatus| Some(phase("Failed"));
    board.revise_status(&uid, failed);
    board.put_pod(&uid, pod("a", "u1"));
    board.revise_status(&uid, failed);
    assert!(board.status(&uid).is_none(), "there was none to revise");
    board.put_status(&uid, phase("Running"));
    board.revise_status(&uid, |_, _| None);
    assert_eq!(board.status(&uid).as_deref(), Some(&phase("Running")));
    board.revise_status(&uid, |pod, last| {
        assert_eq!((pod.metadata.name.as_deref(), last.phase.as_deref()), (Some("a"), Some("Running")));
        Some(phase("Failed"))
    });
    assert_eq!(board.status(&uid).as_deref(), Some(&phase("Failed")));
    assert_eq!(board.pods()[0].status.as_ref(), Some(&phase("Failed")));
}

#[test]
fn that_the_node_ended_a_pod_isnt_taken_back() {
    let board = board();
    let a = PodUid::from("1");
    board.put_pod(&a, pod("a", "1"));
    board.put_status(&a, phase("Running"));
    let end = NodeEnd {
        reason: "Preempting".into(),
        message: "no room".into(),
        condition_message: "no room".into(),
    };
    let ended = ended_by_node(&pod("a", "1"), &phase("Running"), &end, Timestamp::UNIX_EPOCH);
    assert!(board.put_status(&a, ended.clone()));
    assert!(!board.put_status(&a, phase("Running")), "by work that didn't know of it yet");
    assert_eq!(board.status(&a).as_deref(), Some(&ended));
    let settled = PodStatus { message: Some("gone".into()), ..ended };
    assert!(board.put_status(&a, settled));
    board.remove(&a);
    board.put_pod(&a, pod("a", "1"));
    assert!(board.put_status(&a, phase("Running")), "another pod with its UID");
}
