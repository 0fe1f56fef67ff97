//! The store of the statuses of pods.

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

fn statuses() -> PodStatusStore {
    statuses_with(Arc::new(NoStatuses))
}

fn statuses_with(sink: Arc<dyn StatusSink>) -> PodStatusStore {
    PodStatusStore::new(Arc::new(EventLog::new(Arc::new(Still))), sink, Arc::default())
}

/// Records what it receives.
#[derive(Default)]
struct RecordingSink(Mutex<Vec<String>>);

impl StatusSink for RecordingSink {
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

impl RecordingSink {
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
    let statuses = statuses();
    let [a, b] = [PodUid::from("1"), PodUid::from("2")];
    statuses.put_pod(&a, pod("b", "1"));
    statuses.put_pod(&b, pod("a", "2"));
    assert!(statuses.put_status(&a, phase("Pending")));
    assert!(statuses.put_status(&a, phase("Running")));
    assert!(!statuses.put_status(&a, phase("Running")), "the same again is no change");
    statuses.put_pod(&a, pod("b", "1"));
    let shown: Vec<_> = statuses
        .pods()
        .iter()
        .map(|pod| (pod.metadata.name.clone(), pod.status.as_ref().and_then(|s| s.phase.clone())))
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(shown, [(text("a"), None), (text("b"), text("Running"))]);
}

#[test]
fn a_pod_that_is_not_shown_gets_no_status() {
    let statuses = statuses();
    let uid = PodUid::from("1");
    assert!(!statuses.put_status(&uid, phase("Running")));
    statuses.put_pod(&uid, pod("a", "1"));
    statuses.remove(&uid);
    assert!(!statuses.put_status(&uid, phase("Running")));
    assert_eq!(statuses.status(&uid), None);
    assert_eq!(statuses.uids(), []);
}

#[test]
fn a_status_is_revised_where_it_stands_and_only_the_agents_own() {
    let statuses = statuses();
    let uid = PodUid::from("u1");
    let failed = |_: &Pod, _: &PodStatus| Some(phase("Failed"));
    statuses.revise_status(&uid, failed);
    statuses.put_pod(&uid, pod("a", "u1"));
    statuses.revise_status(&uid, failed);
    assert!(statuses.status(&uid).is_none(), "there was none to revise");
    statuses.put_status(&uid, phase("Running"));
    statuses.revise_status(&uid, |_, _| None);
    assert_eq!(statuses.status(&uid).as_deref(), Some(&phase("Running")));
    statuses.revise_status(&uid, |pod, last| {
        assert_eq!((pod.metadata.name.as_deref(), last.phase.as_deref()), (Some("a"), Some("Running")));
        Some(phase("Failed"))
    });
    assert_eq!(statuses.status(&uid).as_deref(), Some(&phase("Failed")));
    assert_eq!(statuses.pods()[0].status.as_ref(), Some(&phase("Failed")));
}

#[test]
fn that_the_node_ended_a_pod_isnt_taken_back() {
    let statuses = statuses();
    let a = PodUid::from("1");
    statuses.put_pod(&a, pod("a", "1"));
    statuses.put_status(&a, phase("Running"));
    let end = NodeEnd {
        reason: "Preempting".into(),
        message: "no capacity".into(),
        condition_message: Some("no capacity".into()),
    };
    let ended = ended_by_node(&pod("a", "1"), &phase("Running"), &end, Timestamp::UNIX_EPOCH);
    assert!(statuses.put_status(&a, ended.clone()));
    assert!(!statuses.put_status(&a, phase("Running")), "by work that didn't know of it yet");
    assert_eq!(statuses.status(&a).as_deref(), Some(&ended));
    let settled = PodStatus { message: Some("gone".into()), ..ended };
    assert!(statuses.put_status(&a, settled));
    statuses.remove(&a);
    statuses.put_pod(&a, pod("a", "1"));
    assert!(statuses.put_status(&a, phase("Running")), "another pod with its UID");
}

#[test]
fn every_change_of_a_pod_is_reported_and_nothing_else() {
    let sink = Arc::new(RecordingSink::default());
    let statuses = statuses_with(sink.clone());
    let a = PodUid::from("1");
    statuses.put_status(&a, phase("Running"));
    statuses.put_state(&a, PodState { is_ending: true, ..PodState::NEW });
    statuses.remove(&a);
    assert_eq!(sink.take(), [] as [&str; 0], "of a pod that isn't shown");
    statuses.put_pod(&a, pod("a", "1"));
    statuses.put_status(&a, phase("Running"));
    statuses.put_status(&a, phase("Running"));
    statuses.put_state(&a, PodState::NEW);
    statuses.revise_status(&a, |_, _| None);
    assert_eq!(sink.take(), ["a - may run", "a Running may run"], "the same again is no change");
    statuses.put_state(&a, PodState { is_ending: true, ..PodState::NEW });
    statuses.revise_status(&a, |_, _| Some(phase("Failed")));
    statuses.put_state(&a, PodState { may_run: false, is_finished: false, is_ending: true });
    statuses.put_state(&a, PodState { may_run: false, is_finished: true, is_ending: true });
    statuses.remove(&a);
    let reported = ["a Running may run ending", "a Failed may run ending", "a Failed ending"];
    assert_eq!(sink.take(), [reported.as_slice(), &["a Failed ending finished", "forget 1"]].concat());
    statuses.put_sources_seen(false);
    statuses.put_sources_seen(true);
    statuses.put_sources_seen(true);
    assert_eq!(sink.take(), ["sources seen: true"]);
}

#[test]
fn a_pod_is_found_by_its_name_and_one_that_stays_before_one_that_goes() {
    let statuses = statuses();
    let named = |name: &str, uid: &str, deleted: bool| {
        let mut pod = Pod::clone(&pod(name, uid));
        pod.metadata.namespace = Some("ns".into());
        pod.metadata.deletion_timestamp = deleted.then_some(Time(Timestamp::UNIX_EPOCH));
        statuses.put_pod(&PodUid::from(uid), Arc::new(pod));
    };
    named("a", "1", true);
    named("b", "2", false);
    let uid = |name: &str| statuses.pod("ns", name).and_then(|pod| pod.metadata.uid.clone());
    assert_eq!(uid("a").as_deref(), Some("1"));
    named("a", "3", false);
    statuses.put_status(&PodUid::from("3"), phase("Running"));
    assert_eq!(uid("a").as_deref(), Some("3"));
    assert_eq!(statuses.pod("ns", "a").unwrap().status, Some(phase("Running")));
    assert_eq!((uid("c"), statuses.pod("other", "a")), (None, None));
}

#[test]
fn watchers_learn_of_pods_that_come_change_and_go() {
    let statuses = statuses();
    let mut changes = statuses.pod_changes();
    let mut has_changed = || {
        let changed = changes.has_changed().expect("the store is there");
        changes.mark_unchanged();
        changed
    };
    let uid = PodUid::from("u1");
    statuses.put_pod(&uid, pod("web", "u1"));
    assert!(has_changed());
    assert!(statuses.put_status(&uid, phase("Running")));
    assert!(has_changed());
    assert!(!statuses.put_status(&uid, phase("Running")));
    assert!(!has_changed(), "it is as it was");
    statuses.remove(&uid);
    assert!(has_changed());
}

#[test]
fn a_reader_of_changes_gets_the_pods_that_changed_and_those_that_are_left_after_an_end() {
    let statuses = statuses();
    let page = |version| {
        let page = statuses.pods_after(version);
        let names = page.changed.iter().map(|shown| shown.pod.metadata.name.clone().unwrap_or_default());
        let left = page.left.map(|left| left.iter().map(|uid| uid.as_str().to_owned()).collect::<Vec<_>>());
        (names.collect::<Vec<_>>().join(" "), left, page.version)
    };
    assert_eq!(page(0), (String::new(), None, 0));
    for (name, uid) in [("web", "u1"), ("db", "u2"), ("cache", "u3")] {
        statuses.put_pod(&PodUid::from(uid), pod(name, uid));
    }
    let (names, left, all) = page(0);
    assert_eq!((names.as_str(), left), ("cache db web", None));
    assert_eq!(page(all), (String::new(), None, all), "nothing changed");
    statuses.put_status(&PodUid::from("u2"), phase("Running"));
    let (names, left, changed) = page(all);
    assert_eq!((names.as_str(), left), ("db", None));
    let shown = statuses.pods_after(all).changed.remove(0);
    assert_eq!(shown.into_pod().status, Some(phase("Running")));
    statuses.remove(&PodUid::from("u1"));
    let ended = |version| (page(version).0, page(version).1.unwrap_or_default().join(" "));
    assert_eq!(ended(changed), (String::new(), "u2 u3".to_owned()));
    assert_eq!(ended(all), ("db".to_owned(), "u2 u3".to_owned()));
    assert_eq!(page(page(0).2).1, None);
}

#[test]
fn verdicts_of_handlers_go_with_their_pod() {
    use witlet_core::admission::chain::HandlerResponse;
    use witlet_core::admission::{Operation, Verdict};
    let statuses = statuses();
    let uid = PodUid::from("u1");
    let verdict = |handler: &str| {
        let answer = HandlerResponse::Verdict(Verdict::Admit);
        let asked = (Operation::Add, Timestamp::UNIX_EPOCH);
        HandlerVerdict::new(handler.into(), None, asked, &answer, std::time::Duration::ZERO)
    };
    statuses.put_verdicts(&uid, vec![verdict("a")]);
    assert_eq!(statuses.verdicts(&uid), [], "a pod that isn't shown has none");
    statuses.put_pod(&uid, pod("web", "u1"));
    statuses.put_verdicts(&uid, vec![verdict("a")]);
    statuses.put_verdicts(&uid, vec![verdict("b"), verdict("a")]);
    assert_eq!(statuses.verdicts(&uid), [verdict("b"), verdict("a")]);
    statuses.remove(&uid);
    assert_eq!(statuses.verdicts(&uid), []);
}
