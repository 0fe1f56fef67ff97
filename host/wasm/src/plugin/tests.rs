//! What of a plugin goes on when its entry changes, and what one role's failures mean for the others.

use std::time::Duration;

use serde_json::json;

use super::config::Grants;
use super::*;
use crate::metrics::Metrics;
use crate::record::Recording;

fn spec() -> Spec {
    let mut spec = Spec::direct(Duration::from_secs(1), 1 << 20, None, Grants::default(), &json!(null));
    spec.probe =
        Some(config::ProbeRole { probe_type: "direct".into(), shadow_of: None, memory_bytes: 1 << 20 });
    spec
}

fn ready() -> Plugin {
    let code = Code::Ready(Arc::new(Loaded::uncalled("digest")));
    Plugin::new(spec(), code, Metrics::default().plugin("direct"), None)
}

fn failed() -> Call {
    let outcome = CallOutcome::Trapped;
    Call { outcome, took: Duration::ZERO, memory_bytes_peak: 0, cpu: Duration::ZERO }
}

fn quarantine(plugin: &Plugin, role: Role, now: Instant) {
    let error = CallError::StackOverflow;
    let changes: Vec<HealthChange> = (0..FAILURES_TO_QUARANTINE)
        .filter_map(|_| plugin.record(role, failed(), Some(&error), now))
        .collect();
    assert_eq!(changes, [HealthChange::Quarantined { lasts: QUARANTINE_MIN }]);
}

#[test]
fn a_quarantine_of_one_role_leaves_the_others_open() {
    let (plugin, now) = (ready(), Instant::now());
    quarantine(&plugin, Role::Probe, now);
    assert!(matches!(plugin.gate(Role::Probe, now), Err(CallError::Quarantined { .. })));
    assert!(plugin.gate(Role::Admission, now).is_ok());
    let status = plugin.status(now);
    assert_eq!(
        (status.state, status.detail.as_deref()),
        (PluginState::Quarantined, Some("probe for another 10s"))
    );
    assert!(plugin.gate(Role::Probe, now + QUARANTINE_MIN).is_ok());
    assert!(plugin.take_release(now + QUARANTINE_MIN), "who waits may ask again");
    assert!(!plugin.take_release(now + QUARANTINE_MIN), "reported once");
}

#[test]
fn health_goes_on_under_another_policy() {
    let (plugin, now) = (ready(), Instant::now());
    quarantine(&plugin, Role::Admission, now);
    let mut other = spec();
    other.admission.as_mut().expect("it has one").order = 7;
    assert!(other.runs_as(&plugin.spec));
    let next = plugin.respecified(other, None);
    assert!(matches!(next.gate(Role::Admission, now), Err(CallError::Quarantined { .. })));
    assert_eq!(next.status(now).order, Some(7));
}

#[test]
fn what_shapes_a_call_makes_another_version() {
    type Change = fn(&mut Spec);
    let role = |spec: &mut Spec| spec.admission.take().expect("it has one");
    let cases: [(&str, Change, bool); 10] = [
        ("order", |spec| spec.admission.as_mut().expect("one").order = 1, true),
        ("probe type", |spec| spec.probe.as_mut().expect("one").probe_type = "x".into(), true),
        ("record", |spec| spec.record = Some(Recording { max: 1, on: [].into() }), true),
        ("config", |spec| spec.config = "1".into(), false),
        ("grants", |spec| spec.grants.exec = true, false),
        ("timeout", |spec| spec.admission.as_mut().expect("one").timeout = Duration::ZERO, false),
        ("memory", |spec| spec.probe.as_mut().expect("one").memory_bytes = 1, false),
        ("warm", |spec| spec.warm = Some(config::Warm { max: 1, uses: 1, idle: Duration::ZERO }), false),
        ("origin", |spec| spec.origin = Origin::File("a.wasm".into()), false),
        ("a role less", |spec| spec.probe = None, false),
    ];
    for (what, change, same) in cases {
        let mut changed = spec();
        change(&mut changed);
        assert_eq!(changed.runs_as(&spec()), same, "{what}");
    }
    let mut without = spec();
    role(&mut without);
    assert!(!without.runs_as(&spec()), "the other role less");
}

#[test]
fn a_plugin_that_is_not_there_yet_says_so_and_keeps_no_error_of_it() {
    let plugin = Plugin::new(spec(), Code::Loading, Metrics::default().plugin("direct"), None);
    let now = Instant::now();
    let error = plugin.gate(Role::Probe, now).expect_err("it is loading");
    let call = Call { outcome: CallOutcome::from(error.kind()), ..failed() };
    assert_eq!(plugin.record(Role::Probe, call, Some(&error), now), None);
    let status = plugin.status(now);
    assert_eq!((status.state, status.calls(), status.last_error), (PluginState::Loading, 0, None));
}

#[test]
fn only_a_configured_plugin_is_named_to_those_whom_it_refuses() {
    let with = |builtin, code| {
        let spec = Spec { builtin, ..spec() };
        Plugin::new(spec, code, Metrics::default().plugin("direct"), None).attribution()
    };
    let code = || Code::Ready(Arc::new(Loaded::uncalled("0123456789abcdef")));
    assert_eq!(with(false, code()).as_deref(), Some("plugin direct, sha256:0123456789ab"));
    assert_eq!((with(true, code()), with(false, Code::Loading)), (None, None));
}

#[test]
fn an_edit_of_an_entry_does_not_prolong_how_long_pods_wait_for_its_load() {
    let plugin = Plugin::new(spec(), Code::Loading, Metrics::default().plugin("direct"), None);
    let (now, most) = (Instant::now(), config::LOAD_TIMEOUT_DEFAULT);
    let mut other = spec();
    other.admission.as_mut().expect("it has one").order = 7;
    let edited = plugin.respecified(other, None);
    for plugin in [&plugin, &edited] {
        assert!(plugin.holds_pods(now) && !plugin.holds_pods(now + most));
        assert!(!plugin.take_overdue_load(now), "it may still come");
    }
    assert!(edited.take_overdue_load(now + most));
    assert!(!edited.take_overdue_load(now + most), "reported once");
    assert!(!ready().holds_pods(now), "what is loaded is asked");
}

#[test]
fn what_is_not_loaded_answers_all_that_it_may_have_subscribed_to_but_ends_no_pod() {
    let answers = |builtin, recheck| {
        let mut spec = Spec { builtin, ..spec() };
        spec.admission.as_mut().expect("it has one").recheck = recheck;
        let plugin = Plugin::new(spec, Code::Loading, Metrics::default().plugin("direct"), None);
        let answered = Operation::ALL.into_iter().filter(|operation| plugin.answers(*operation));
        answered.map(Operation::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(answers(true, None), "add resize", "what ships is known");
    for recheck in [None, Some(Duration::from_secs(60))] {
        assert_eq!(answers(false, recheck), "add resize update ephemeral image-resolved");
    }
}

#[test]
fn what_never_ran_keeps_no_container_from_starting_unless_its_entry_says_so() {
    let answers = |code: Code, operations: Option<Vec<Operation>>| {
        let mut spec = spec();
        spec.admission.as_mut().expect("it has one").matches.criteria.operations = operations;
        let plugin = Plugin::new(spec, code, Metrics::default().plugin("direct"), None);
        plugin.set_never_ran();
        [Operation::Add, Operation::Update, Operation::Ephemeral, Operation::ImageResolved]
            .map(|operation| plugin.answers(operation))
    };
    let failed = || Code::Failed(Arc::new(LoadError::Interrupted));
    assert_eq!(answers(failed(), None), [true, true, true, false]);
    assert_eq!(answers(failed(), Some(vec![Operation::Add])), [true, true, true, false]);
    assert_eq!(answers(failed(), Some(vec![Operation::ImageResolved])), [true; 4]);
    // What is asked of one that runs is what it subscribes to.
    assert!(!answers(Code::Ready(Arc::new(Loaded::uncalled("digest"))), None)[3]);
}
