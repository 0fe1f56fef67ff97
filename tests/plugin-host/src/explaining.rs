//! A host for trying handlers out decides as a daemon's does, and says what each handler made of the question.

use witlet_core::admission::Decision;
use witlet_core::admission::chain::{FailureKind, FailurePolicy, HandlerResponse};
use witlet_wasm::host::{Explanation, HandlerStep, PluginHost};
use witlet_wasm::plugin::{Builtin, FAILURES_TO_QUARANTINE};

use crate::claims;
use crate::node::{Node, Setting, builtin, cache, compiler, hostile, pod, pod_in, request};

claims!(
    an_explanation_decides_as_admission_does_and_has_each_handlers_part,
    no_failure_keeps_a_handler_from_the_next_pod_that_is_tried,
    what_handlers_log_stands_with_their_answers,
);

/// A handler's part in a few words.
fn word(explanation: &Explanation, name: &str) -> String {
    let report = explanation.handlers.iter().find(|report| report.name == name);
    match &report.expect("it is among them").step {
        HandlerStep::NotMatched { rule, message } => format!("{rule}: {message}"),
        HandlerStep::NotAsked => "not asked".to_owned(),
        HandlerStep::Answered(answer) => {
            let response = match &answer.response {
                HandlerResponse::Verdict(verdict) => format!("{verdict:?}"),
                HandlerResponse::Failure { kind, policy, .. } => format!("{} {policy:?}", kind.as_str()),
            };
            let word = response.split([' ', '(']).next().unwrap_or_default();
            format!("{word}{}", if answer.counts { "" } else { ", not counted" })
        }
    }
}

async fn an_explanation_decides_as_admission_does_and_has_each_handlers_part() {
    let builtins: Vec<Builtin> = witlet_plugins::ADMISSION
        .iter()
        .filter(|shipped| shipped.name == "node-affinity")
        .map(|shipped| builtin(shipped.name, shipped.component))
        .collect();
    let entries = [
        hostile("admits", "admit", "order: 1"),
        hostile("elsewhere", "reject", "order: 2, match: {namespaces: [ci]}"),
        hostile("traps", "trap", "order: 3, failurePolicy: Admit"),
        hostile("tried", "reject", "order: 4, mode: shadow"),
        hostile("gate", "defer", "order: 5"),
        hostile("last", "reject", "order: 6"),
    ];
    let setting = || Setting { builtins: builtins.clone(), ..Setting::new(compiler(cache())) };
    let daemon = Node::begin(&entries.concat(), setting()).await.expect("it starts");
    daemon.host.ready().await;
    let trial = Node::trial(&entries.concat(), setting()).await;
    for (namespace, decided_by) in
        [("default", Some("gate")), ("ci", Some("elsewhere")), ("kube-system", None)]
    {
        let pod = || pod_in(namespace, "web");
        let decision = daemon.admit(pod()).await;
        let explained = trial.host.explain(request(pod()), false).await;
        assert_eq!(
            (&explained.decision, explained.decided_by.as_deref()),
            (&decision, decided_by),
            "{namespace}"
        );
    }
    let names: Vec<String> = daemon.host.list().into_iter().map(|status| status.name).collect();
    let explained = trial.host.explain(request(pod("web")), false).await;
    let in_order: Vec<String> = explained.handlers.iter().map(|report| report.name.clone()).collect();
    assert_eq!(in_order, names, "the order of asking");
    let all = trial.host.explain(request(pod("web")), true).await;
    assert_eq!(all.decision, explained.decision, "later answers don't count");
    let cases = [
        ("node-affinity", "Admit", "Admit"),
        ("admits", "Admit", "Admit"),
        (
            "elsewhere",
            "match.namespaces: the pod has the namespace default",
            "match.namespaces: the pod has the namespace default",
        ),
        ("traps", "HandlerTrapped", "HandlerTrapped"),
        ("tried", "Reject, not counted", "Reject, not counted"),
        ("gate", "Defer", "Defer"),
        ("last", "not asked", "Reject, not counted"),
    ];
    for (name, expected, expected_of_all) in cases {
        assert_eq!(
            (word(&explained, name), word(&all, name)),
            (expected.into(), expected_of_all.into()),
            "{name}"
        );
    }
    let system = trial.host.explain(request(pod_in("kube-system", "web")), false).await;
    assert_eq!(word(&system, "gate"), "match.systemPods: it is a system pod: it is in kube-system");
}

async fn no_failure_keeps_a_handler_from_the_next_pod_that_is_tried() {
    let entries = hostile("traps", "trap", "failurePolicy: Reject");
    let trial = Node::trial(&entries, Setting::new(compiler(cache()))).await;
    for _ in 0..FAILURES_TO_QUARANTINE + 2 {
        let explained = trial.host.explain(request(pod("web")), false).await;
        assert!(matches!(explained.decision, Decision::Reject { .. }), "{explained:?}");
        let [report] = explained.handlers.as_slice() else { panic!("{explained:?}") };
        let HandlerStep::Answered(answer) = &report.step else { panic!("{report:?}") };
        let expected = |response: &HandlerResponse| {
            matches!(
                response,
                HandlerResponse::Failure { kind: FailureKind::Trapped, policy: FailurePolicy::Reject, .. }
            )
        };
        assert!(expected(&answer.response), "{answer:?}");
    }
}

async fn what_handlers_log_stands_with_their_answers() {
    let entries = hostile("loud", "log-flood", "order: 1") + &hostile("quiet", "admit", "order: 2");
    let trial = Node::trial(&entries, Setting::new(compiler(cache()))).await;
    let lines = async |host: &PluginHost| {
        let explained = host.explain(request(pod("web")), false).await;
        let count = |report: &witlet_wasm::host::HandlerReport| match &report.step {
            HandlerStep::Answered(answer) => answer.log.len(),
            HandlerStep::NotMatched { .. } | HandlerStep::NotAsked => 0,
        };
        explained.handlers.iter().map(count).collect::<Vec<_>>()
    };
    let first = lines(&trial.host).await;
    assert!(first[0] > 0 && first[1] == 0, "{first:?}");
    assert_eq!(lines(&trial.host).await, first, "each question has its own");
}
