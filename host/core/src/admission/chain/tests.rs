//! Tests of the fold: tables of answers and what becomes of the pod.

use proptest::prelude::*;

use super::*;
use crate::admission::Operation;
use crate::fixtures::{at, first, pod, resources, spec};
use crate::pod::{PodUid, SourceName};

fn reject(reason: &str) -> HandlerResponse {
    HandlerResponse::Verdict(Verdict::Reject {
        reason: reason.to_owned(),
        message: format!("{reason} it is"),
    })
}

fn defer(reason: &str, milliseconds: u64) -> HandlerResponse {
    HandlerResponse::Verdict(Verdict::Defer {
        reason: reason.to_owned(),
        message: format!("{reason} it is"),
        retry_after: Duration::from_millis(milliseconds),
    })
}

fn short_of(resource: &str) -> HandlerResponse {
    let shortage = Shortage { resource: resource.to_owned(), requested: 500, used: 800, capacity: 1000 };
    HandlerResponse::Verdict(Verdict::Shortage(vec![shortage]))
}

fn failure(kind: FailureKind, policy: FailurePolicy) -> HandlerResponse {
    HandlerResponse::Failure { kind, message: "after 100 ms".to_owned(), policy, retry_after: None }
}

const ADMIT: HandlerResponse = HandlerResponse::Verdict(Verdict::Admit);

/// A pod that may have others ended for it, and one that may not.
#[derive(Clone, Copy, Debug)]
enum Who {
    Critical,
    Common,
}

/// It asks for 600m and a GiB of a node with one CPU and half a GiB, and next to it runs one pod, `victim`, with half a CPU.
fn request(who: Who, operation: Operation) -> AdmissionRequest {
    let mut asking = pod("Always", &["a"]);
    first(&mut asking).resources = resources("cpu 600m/- memory 1Gi/-");
    spec(&mut asking).priority = Some(match who {
        Who::Critical => 2_000_000_000,
        Who::Common => 0,
    });
    let mut victim = pod("Always", &["a"]);
    first(&mut victim).resources = resources("cpu 500m/-");
    victim.metadata.uid = Some("victim".to_owned());
    AdmissionRequest {
        operation,
        now: at(0),
        pod: Arc::new(asking),
        old_pod: None,
        image: None,
        source: SourceName::from("api"),
        node: Arc::new(node()),
        other_pods: [AdmittedPod { pod: Arc::new(victim), source: SourceName::from("api") }].into(),
    }
}

fn node() -> NodeFacts {
    let node = serde_saphyr::from_str(
        "{metadata: {name: n}, status: {allocatable: {cpu: 1, memory: 512Mi, pods: 110}}}",
    );
    NodeFacts { node: node.unwrap(), ..NodeFacts::default() }
}

/// How many handlers were asked, and what came of it.
fn ask_for(request: &AdmissionRequest, answers: &[HandlerResponse]) -> (usize, Decision) {
    let mut chain = Chain::new(request);
    for (index, answer) in answers.iter().enumerate() {
        match chain.answer(&format!("handler-{index}"), None, answer.clone()) {
            Next::Continue(next) => chain = next,
            Next::Decided(decision) => return (index + 1, decision),
        }
    }
    (answers.len(), chain.finish())
}

fn ask(answers: &[HandlerResponse]) -> (usize, Decision) {
    ask_for(&request(Who::Common, Operation::Add), answers)
}

fn word(decision: &Decision) -> String {
    match decision {
        Decision::Admit => "admit".to_owned(),
        Decision::Reject { reason, .. } => format!("reject {reason}"),
        Decision::Preempt { victims, .. } => {
            format!("preempt {}", victims.iter().map(PodUid::as_str).collect::<Vec<_>>().join(" "))
        }
        Decision::Defer { reason, .. } => format!("defer {reason}"),
    }
}

#[test]
fn the_first_refusal_decides() {
    let fails = |policy| failure(FailureKind::TimedOut, policy);
    let cases: [(&str, &[HandlerResponse], usize, &str); 14] = [
        ("no one is asked", &[], 0, "admit"),
        ("all admit", &[ADMIT, ADMIT], 2, "admit"),
        ("a reject is final", &[reject("A"), ADMIT], 1, "reject A"),
        ("a defer is final", &[defer("A", 1), reject("B")], 1, "defer A"),
        ("the first refusal wins", &[ADMIT, reject("A"), reject("B")], 2, "reject A"),
        ("a shortage rejects", &[short_of("cpu")], 1, "reject OutOfcpu"),
        ("a shortage is final", &[short_of("pods"), short_of("cpu"), reject("A")], 1, "reject OutOfpods"),
        ("a shortage after others", &[ADMIT, short_of("cpu"), defer("A", 1)], 2, "reject OutOfcpu"),
        (
            "a failure that rejects",
            &[fails(FailurePolicy::Reject), ADMIT],
            1,
            "reject UnexpectedAdmissionError",
        ),
        ("a failure that admits", &[fails(FailurePolicy::Admit), ADMIT], 2, "admit"),
        ("a failure that admits, then a reject", &[fails(FailurePolicy::Admit), reject("A")], 2, "reject A"),
        ("a failure that defers", &[fails(FailurePolicy::Defer), ADMIT], 1, "defer HandlerTimedOut"),
        (
            "a failure before a shortage",
            &[fails(FailurePolicy::Admit), short_of("cpu")],
            2,
            "reject OutOfcpu",
        ),
        (
            "a shortage without resources",
            &[HandlerResponse::Verdict(Verdict::Shortage(vec![])), ADMIT],
            1,
            "reject UnexpectedAdmissionError",
        ),
    ];
    for (claim, answers, asked, expected) in cases {
        let (count, decision) = ask(answers);
        assert_eq!((count, word(&decision).as_str()), (asked, expected), "{claim}");
    }
}

#[test]
fn others_end_for_a_critical_pod_only_if_nothing_else_is_against_it() {
    let fails = |policy| failure(FailureKind::TimedOut, policy);
    let cases: [(&str, &[HandlerResponse], usize, &str); 13] = [
        ("a shortage alone", &[short_of("cpu")], 1, "preempt victim"),
        ("after a shortage the rest is asked", &[short_of("cpu"), ADMIT, ADMIT], 3, "preempt victim"),
        ("a reject before it", &[reject("A"), short_of("cpu")], 1, "reject A"),
        ("a reject after it", &[short_of("cpu"), reject("A"), ADMIT], 2, "reject A"),
        ("a defer before it", &[defer("A", 1), short_of("cpu")], 1, "defer A"),
        ("a defer after it", &[short_of("cpu"), defer("A", 1), defer("B", 1), ADMIT], 4, "defer A"),
        ("a reject after both", &[short_of("cpu"), defer("A", 1), reject("B")], 3, "reject B"),
        (
            "a failure that rejects",
            &[short_of("cpu"), fails(FailurePolicy::Reject)],
            2,
            "reject UnexpectedAdmissionError",
        ),
        (
            "a failure that defers",
            &[short_of("cpu"), fails(FailurePolicy::Defer)],
            2,
            "defer HandlerTimedOut",
        ),
        ("a failure that admits", &[short_of("cpu"), fails(FailurePolicy::Admit)], 2, "preempt victim"),
        (
            "all of several shortages count",
            &[short_of("cpu"), short_of("memory")],
            2,
            "reject UnexpectedAdmissionError",
        ),
        (
            "a pod that can't get capacity doesn't wait",
            &[short_of("memory"), defer("A", 1)],
            2,
            "reject UnexpectedAdmissionError",
        ),
        ("nothing lacks", &[], 0, "admit"),
    ];
    for (claim, answers, asked, expected) in cases {
        let (count, decision) = ask_for(&request(Who::Critical, Operation::Add), answers);
        assert_eq!((count, word(&decision).as_str()), (asked, expected), "{claim}");
    }
}

#[test]
fn no_one_is_ended_for_a_resize() {
    let (_, decision) = ask_for(&request(Who::Critical, Operation::Resize), &[short_of("cpu"), ADMIT]);
    assert_eq!(word(&decision), "reject OutOfcpu");
}

#[test]
fn a_shortage_that_is_none_ends_no_one() {
    let enough = Shortage { resource: "cpu".to_owned(), requested: 1, used: 1, capacity: 9 };
    let answers = [HandlerResponse::Verdict(Verdict::Shortage(vec![enough]))];
    let (_, decision) = ask_for(&request(Who::Critical, Operation::Add), &answers);
    assert_eq!(word(&decision), "reject OutOfcpu");
}

#[test]
fn a_critical_pods_decision_says_what_lacks() {
    let critical = request(Who::Critical, Operation::Add);
    let Decision::Preempt { message, .. } = ask_for(&critical, &[short_of("cpu")]).1 else {
        panic!("capacity can be freed")
    };
    assert_eq!(
        message,
        "Preempting 1 pod: Node didn't have enough resource: cpu, requested: 500, used: 800, capacity: 1000"
    );
    let Decision::Reject { message, .. } = ask_for(&critical, &[short_of("memory"), short_of("cpu")]).1
    else {
        panic!("no one has memory")
    };
    assert_eq!(
        message,
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of \
         pods to preempt: no set of running pods found to reclaim resources: [(res: memory, q: 300), ]"
    );
}

#[test]
fn a_shortage_is_reported_in_upstreams_words() {
    let (_, decision) = ask(&[short_of("cpu")]);
    let expected = Decision::Reject {
        reason: "OutOfcpu".to_owned(),
        message: "Node didn't have enough resource: cpu, requested: 500, used: 800, capacity: 1000"
            .to_owned(),
        handler: None,
    };
    assert_eq!(decision, expected);
}

#[test]
fn a_handlers_words_reach_the_pod_unchanged() {
    let expected = Decision::Reject { reason: "A".to_owned(), message: "A it is".to_owned(), handler: None };
    assert_eq!(ask(&[reject("A")]).1, expected);
}

#[test]
fn a_failure_names_the_handler_and_how_it_failed() {
    let (_, decision) = ask(&[ADMIT, failure(FailureKind::Trapped, FailurePolicy::Defer)]);
    let expected = Decision::Defer {
        reason: "HandlerTrapped".to_owned(),
        message: "Admission handler handler-1 trapped: after 100 ms".to_owned(),
        retry_after: RETRY_AFTER_FAILURE,
    };
    assert_eq!(decision, expected);
}

#[test]
fn what_the_host_says_of_a_handler_ends_with_who_it_is() {
    let fails = |policy| failure(FailureKind::Trapped, policy);
    let nothing = HandlerResponse::Verdict(Verdict::Shortage(vec![]));
    let lacks = "Node didn't have enough resource: cpu, requested: 500, used: 800, capacity: 1000";
    let of_memory = "[(res: memory, q: 300), ]";
    let of_pods = "Node didn't have enough resource: pods, requested: 500, used: 800, capacity: 1000";
    let cases = [
        (Who::Common, fails(FailurePolicy::Defer), "handler a trapped: after 100 ms"),
        (Who::Common, fails(FailurePolicy::Reject), "handler a trapped: after 100 ms"),
        (Who::Common, nothing.clone(), "returned a shortage without resources"),
        (Who::Critical, nothing, "returned a shortage without resources"),
        (Who::Common, short_of("cpu"), lacks),
        (Who::Critical, short_of("cpu"), lacks),
        (Who::Critical, short_of("memory"), of_memory),
        (Who::Critical, short_of("pods"), of_pods),
    ];
    for (who, answer, words) in cases {
        let message = |by: Option<&str>| {
            let decision = match Chain::new(&request(who, Operation::Add)).answer("a", by, answer.clone()) {
                Next::Continue(chain) => chain.finish(),
                Next::Decided(decision) => decision,
            };
            match decision {
                Decision::Reject { message, .. }
                | Decision::Defer { message, .. }
                | Decision::Preempt { message, .. } => message,
                Decision::Admit => panic!("{who:?} {answer:?}"),
            }
        };
        let unsigned = message(None);
        assert!(unsigned.ends_with(words), "{unsigned:?}");
        assert_eq!(message(Some("plugin a, sha256:0123")), format!("{unsigned} (plugin a, sha256:0123)"));
    }
}

#[test]
fn of_several_shortages_the_one_that_decides_says_whose_it_is() {
    let mut chain = Chain::new(&request(Who::Critical, Operation::Add));
    for (name, resource) in [("a", "cpu"), ("b", "example.com/licences")] {
        let Next::Continue(next) = chain.answer(name, Some(name), short_of(resource)) else {
            panic!("others may be ended")
        };
        chain = next;
    }
    let Decision::Reject { message, .. } = chain.finish() else { panic!("the node has no licences") };
    assert!(message.contains("example.com/licences") && message.ends_with(" (b)"), "{message}");
}

#[test]
fn a_failure_that_says_when_to_ask_again_is_asked_again_then() {
    for (asked, expected) in [(0, 1_000), (30_000, 30_000), (u64::MAX, 3_600_000)] {
        let failed = HandlerResponse::Failure {
            kind: FailureKind::Failed,
            message: "no table".to_owned(),
            policy: FailurePolicy::Defer,
            retry_after: Some(Duration::from_millis(asked)),
        };
        let (_, decision) = ask(&[failed]);
        let Decision::Defer { retry_after, .. } = decision else { panic!("its policy defers") };
        assert_eq!(retry_after.as_millis(), expected, "{asked}");
    }
}

#[test]
fn no_one_is_asked_again_before_a_second_or_later_than_an_hour() {
    for (asked, expected) in [(0, 1_000), (999, 1_000), (1_000, 1_000), (5_000, 5_000), (u64::MAX, 3_600_000)]
    {
        let (_, decision) = ask(&[defer("A", asked)]);
        let Decision::Defer { retry_after, .. } = decision else { panic!("a defer defers") };
        assert_eq!(retry_after.as_millis(), expected, "{asked}");
    }
}

#[test]
fn every_kind_of_failure_has_words_of_its_own() {
    let kinds = [
        FailureKind::Trapped,
        FailureKind::TimedOut,
        FailureKind::OutOfMemory,
        FailureKind::BadAnswer,
        FailureKind::Failed,
        FailureKind::NotLoaded,
        FailureKind::Quarantined,
        FailureKind::Host,
    ];
    let words: std::collections::BTreeSet<_> = kinds.map(|kind| (kind.as_str(), kind.to_string())).into();
    assert_eq!(words.len(), kinds.len());
}

#[test]
fn a_failure_policy_is_written_as_in_the_configuration() {
    for (policy, text) in
        [(FailurePolicy::Reject, "Reject"), (FailurePolicy::Admit, "Admit"), (FailurePolicy::Defer, "Defer")]
    {
        assert_eq!(serde_json::to_value(policy).unwrap(), text);
    }
    assert_eq!(FailurePolicy::default(), FailurePolicy::Defer);
}

fn any_answer() -> impl Strategy<Value = HandlerResponse> {
    let policy =
        prop_oneof![Just(FailurePolicy::Reject), Just(FailurePolicy::Admit), Just(FailurePolicy::Defer)];
    prop_oneof![
        Just(ADMIT),
        Just(reject("A")),
        (0..u64::MAX).prop_map(|milliseconds| defer("B", milliseconds)),
        Just(short_of("cpu")),
        policy.prop_map(|policy| failure(FailureKind::Failed, policy)),
    ]
}

proptest! {
    #[test]
    fn a_pod_is_admitted_only_if_no_one_refused(answers in prop::collection::vec(any_answer(), 0..8)) {
        let (_, decision) = ask(&answers);
        let refused = answers.iter().any(|answer| match answer {
            HandlerResponse::Verdict(verdict) => *verdict != Verdict::Admit,
            HandlerResponse::Failure { policy, .. } => *policy != FailurePolicy::Admit,
        });
        prop_assert_eq!(decision == Decision::Admit, !refused);
    }
}

#[test]
fn no_one_is_ended_for_what_the_node_has() {
    for claimed in ["ephemeral-storage", "pods", "example.com/licences"] {
        let chain = Chain::new(&request(Who::Critical, Operation::Add));
        let Next::Continue(chain) = chain.answer("other", None, short_of(claimed)) else {
            panic!("it decided")
        };
        let expected = format!("OutOf{claimed}");
        assert!(matches!(chain.finish(), Decision::Reject { reason, .. } if reason == expected), "{claimed}");
    }
}

#[test]
fn a_pod_that_runs_is_ended_by_a_rejection_alone() {
    let fails = |policy| failure(FailureKind::TimedOut, policy);
    let others = [
        ADMIT,
        defer("A", 1),
        short_of("cpu"),
        HandlerResponse::Verdict(Verdict::Shortage(vec![])),
        fails(FailurePolicy::Reject),
        fails(FailurePolicy::Defer),
        fails(FailurePolicy::Admit),
    ];
    let operations = Operation::ALL.into_iter().filter(|operation| operation.is_of_running_pod());
    let asked = operations.flat_map(|operation| [(Who::Common, operation), (Who::Critical, operation)]);
    for (who, operation) in asked {
        let request = request(who, operation);
        for other in &others {
            let (count, decision) = ask_for(&request, std::slice::from_ref(other));
            assert_eq!((count, word(&decision).as_str()), (1, "admit"), "{who:?} {other:?}");
            let (count, decision) = ask_for(&request, &[other.clone(), reject("B"), reject("C")]);
            assert_eq!((count, word(&decision).as_str()), (2, "reject B"), "{who:?} {other:?}");
        }
    }
}
