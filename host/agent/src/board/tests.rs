//! Tests of the board.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use witlet_core::status::{NodeEnd, ended_by_node};
use witlet_ports::{Clock, NoStatuses};

use super::*;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn board() -> Board {
    board_with(Arc::new(NoStatuses))
}

fn board_with(sink: Arc<dyn StatusSink>) -> Board {
    Board::new(Arc::new(EventLog::new(Arc::new(Still))), sink)
}

/// Writes down what it hears.
#[derive(Default)]
struct Scribe(Mutex<Vec<String>>);

impl StatusSink for Scribe {
    fn report(&self, report: PodReport) {
        let name = report.pod.metadata.name.as_deref().unwrap_or_default();
        let phase = report.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("-");
        let flags =
            [(report.may_run, " may run"), (report.is_ending, " ending"), (report.is_finished, " finished")];
        let flags = flags.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word);
        self.write(format!("{name} {phase}{}", flags.collect::<String>()));
    }

    fn forget(&self, uid: &PodUid) {
        self.write(format!("forget {uid}"));
    }

    fn sources_seen(&self, all: bool) {
        self.write(format!("sources seen: {all}"));
    }
}

impl Scribe {
    fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
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
        condition_message: Some("no room".into()),
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

#[test]
fn every_change_of_a_pod_is_reported_and_nothing_else() {
    let scribe = Arc::new(Scribe::default());
    let board = board_with(scribe.clone());
    let a = PodUid::from("1");
    board.put_status(&a, phase("Running"));
    board.put_standing(&a, Standing { is_ending: true, ..Standing::NEW });
    board.remove(&a);
    assert_eq!(scribe.take(), [] as [&str; 0], "of a pod that isn't shown");
    board.put_pod(&a, pod("a", "1"));
    board.put_status(&a, phase("Running"));
    board.put_status(&a, phase("Running"));
    board.put_standing(&a, Standing::NEW);
    board.revise_status(&a, |_, _| None);
    assert_eq!(scribe.take(), ["a - may run", "a Running may run"], "the same again is no change");
    board.put_standing(&a, Standing { is_ending: true, ..Standing::NEW });
    board.revise_status(&a, |_, _| Some(phase("Failed")));
    board.put_standing(&a, Standing { may_run: false, is_finished: false, is_ending: true });
    board.put_standing(&a, Standing { may_run: false, is_finished: true, is_ending: true });
    board.remove(&a);
    let told = ["a Running may run ending", "a Failed may run ending", "a Failed ending"];
    assert_eq!(scribe.take(), [told.as_slice(), &["a Failed ending finished", "forget 1"]].concat());
    board.put_sources_seen(false);
    board.put_sources_seen(true);
    board.put_sources_seen(true);
    assert_eq!(scribe.take(), ["sources seen: true"]);
}

#[test]
fn a_pod_is_found_by_its_name_and_one_that_stays_before_one_that_goes() {
    let board = board();
    let named = |name: &str, uid: &str, deleted: bool| {
        let mut pod = Pod::clone(&pod(name, uid));
        pod.metadata.namespace = Some("ns".into());
        pod.metadata.deletion_timestamp = deleted.then_some(Time(Timestamp::UNIX_EPOCH));
        board.put_pod(&PodUid::from(uid), Arc::new(pod));
    };
    named("a", "1", true);
    named("b", "2", false);
    let uid = |name: &str| board.pod("ns", name).and_then(|pod| pod.metadata.uid.clone());
    assert_eq!(uid("a").as_deref(), Some("1"));
    named("a", "3", false);
    board.put_status(&PodUid::from("3"), phase("Running"));
    assert_eq!(uid("a").as_deref(), Some("3"));
    assert_eq!(board.pod("ns", "a").unwrap().status, Some(phase("Running")));
    assert_eq!((uid("c"), board.pod("other", "a")), (None, None));
}
