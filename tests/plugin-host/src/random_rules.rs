//! Random rules, the dearest and the largest ones, in the shipped handler `cel` with the limits that an entry without any has.
//!
//! `RULE_FILES` says how many random configurations are tried, `RULE_SEED` which ones, and `RULE_TIMEOUT` how long an answer may take.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node as NodeObject, Pod};
use serde_json::{Value, json};
use witlet_core::admission::chain::{FailureKind, HandlerResponse};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation, Verdict};
use witlet_core::image::{CredentialOrigin, ResolvedImage};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_rule_cases::{Choices, PodQuestion, rules};
use witlet_wasm::host::{HandlerAnswer, HandlerStep};
use witlet_wasm::plugin::PluginState;
use witlet_wasm::plugin::config::{MEMORY_BYTES_DEFAULT, PLUGINS_MAX};

use crate::claims;
use crate::node::{Node, Setting, cache, compiler, pod, request};

claims!(
    random_rules_end_as_verdicts_or_named_errors_within_the_limits,
    the_dearest_rules_end_at_their_own_limit_and_in_no_timeout,
    the_largest_rules_are_checked_and_asked_within_the_limits,
    rules_that_are_too_large_are_refused_within_the_limits,
);

/// How many configurations are tried unless `RULE_FILES` says otherwise.
const FILES: usize = 2 * PLUGINS_MAX;
/// How many pods each is asked about.
const QUESTIONS: usize = 4;
/// How the reasons begin for which a configuration isn't taken.
const REFUSALS: &[&str] =
    &["the plugin refuses its configuration: ", "the configuration does not fit the component's manifest "];
/// What all expressions of a configuration may have together.
const SOURCES_BYTES_MAX: usize = 128 << 10;
/// What one of them may have.
const SOURCE_BYTES_MAX: usize = 16 << 10;
/// How many names, values and signs they may have together.
const TOKENS_MAX: usize = 32 << 10;
/// More than those at the beginning and the end of an expression.
const TOKENS_AROUND: usize = 20;

/// How long an answer may take unless `RULE_TIMEOUT` says otherwise: ten times the default, because a processor that others use, too, is
/// slower. The soak asks with the default.
const TIMEOUT: &str = "1s";

/// A trial host with an entry of `cel` for each of these configurations, with the default's limits but for the time.
async fn node(configurations: &[Value]) -> Node {
    let cel = witlet_plugins::SHIPPED.iter().filter(|shipped| shipped.name == "cel");
    let shipped = cel.map(|shipped| (shipped.name, shipped.component)).collect();
    let timeout = std::env::var("RULE_TIMEOUT").unwrap_or_else(|_| TIMEOUT.to_owned());
    let entry = |(number, config): (usize, &Value)| {
        format!(
            "- {{name: r{number}, component: builtin:cel, admission: {{}}, limits: {{timeout: {timeout}}}, config: {config}}}\n"
        )
    };
    let entries: String = configurations.iter().enumerate().map(entry).collect();
    Node::trial(&entries, Setting { shipped, ..Setting::new(compiler(cache())) }).await
}

/// Each handler's part in the answer to a question.
async fn steps(node: &Node, request: AdmissionRequest) -> Vec<(String, HandlerStep)> {
    let explained = node.host.explain(request, true).await;
    explained.handlers.into_iter().map(|report| (report.name, report.step)).collect()
}

/// The answer in a word. Panics at what no rule may come to.
fn word(answer: &HandlerAnswer, of: &str) -> &'static str {
    assert!(answer.memory_bytes_peak <= MEMORY_BYTES_DEFAULT as u64, "{of}: {answer:?}");
    assert_eq!(answer.fault, None, "{of}");
    match &answer.response {
        HandlerResponse::Verdict(Verdict::Admit) => "admitted",
        HandlerResponse::Verdict(Verdict::Reject { .. }) => "rejected",
        HandlerResponse::Verdict(Verdict::Defer { .. }) => "deferred",
        HandlerResponse::Failure { kind: FailureKind::Failed, message, .. } => {
            assert!(message.contains("RuleFailed: "), "{of}: {message}");
            if message.contains("evaluation takes more than ") { "limited" } else { "failed" }
        }
        HandlerResponse::Failure { kind: FailureKind::Host, .. } => "not asked",
        other => panic!("{of}: {other:?}"),
    }
}

fn number(name: &str, usual: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")),
        Err(_) => usual,
    }
}

async fn random_rules_end_as_verdicts_or_named_errors_within_the_limits() {
    let (files, seed) = (number("RULE_FILES", FILES), number("RULE_SEED", 1));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for first in (0..files).step_by(PLUGINS_MAX) {
        let mut choices = Choices::new((seed as u64) << 32 | first as u64);
        let configurations: Vec<Value> =
            (first..files.min(first + PLUGINS_MAX)).map(|_| rules(&mut choices, &[])).collect();
        let node = node(&configurations).await;
        let shown = |name: &str| {
            let number: usize = name.trim_start_matches('r').parse().expect("the entry's number");
            format!("RULE_SEED={seed}, file {}: {}", first + number, configurations[number])
        };
        for status in node.host.list() {
            let detail = status.detail.unwrap_or_default();
            let count = match status.state {
                PluginState::Ready => "taken",
                _ => "refused",
            };
            let is_named = REFUSALS.iter().any(|refusal| detail.starts_with(refusal));
            assert!(count == "taken" || is_named, "{}: {detail}", shown(&status.name));
            *counts.entry(count).or_default() += 1;
        }
        for _ in 0..QUESTIONS {
            let question = PodQuestion::new(&mut choices);
            for (name, step) in steps(&node, asked(&question)).await {
                let HandlerStep::Answered(answer) = step else { continue };
                if matches!(&answer.response, HandlerResponse::Failure { kind: FailureKind::NotLoaded, .. }) {
                    continue;
                }
                let word = word(&answer, &format!("{}: {question:?}", shown(&name)));
                *counts.entry(word).or_default() += 1;
            }
        }
    }
    let kinds: Vec<&str> = counts.keys().copied().filter(|kind| *kind != "not asked").collect();
    let all = ["admitted", "deferred", "failed", "limited", "refused", "rejected", "taken"];
    assert_eq!(kinds, all, "{counts:?}");
    assert!(counts["taken"] * 3 > files, "most rules are to be asked: {counts:?}");
}

fn asked(question: &PodQuestion) -> AdmissionRequest {
    let pod = |manifest: &Value| -> Pod { serde_json::from_value(manifest.clone()).expect("it is a pod") };
    let operation = Operation::ALL.into_iter().find(|operation| operation.as_str() == question.operation);
    let node: NodeObject = serde_json::from_value(question.node.clone()).expect("it is a node");
    let others = question.other_pods.iter();
    let others = others.map(|other| AdmittedPod { source: SourceName::file(), pod: Arc::new(pod(other)) });
    AdmissionRequest {
        operation: operation.expect("it is the contract's word"),
        now: Timestamp::from_second(question.now).expect("a time in range"),
        pod: Arc::new(pod(&question.pod)),
        old_pod: question.old_pod.as_ref().map(|old| Arc::new(pod(old))),
        image: question.image.as_ref().map(|image| {
            Arc::new(ResolvedImage {
                container: image.container.clone(),
                id: image.id.clone(),
                digest: image.digest.clone(),
                size_bytes: image.size_bytes,
                credentials: Some(CredentialOrigin::Node),
            })
        }),
        source: SourceName::from("api"),
        node: Arc::new(NodeFacts::of(node)),
        other_pods: others.collect(),
    }
}

/// Rules that would go on for seconds, or fill the memory, each in another way.
fn dearest() -> Vec<String> {
    let letters = "a".repeat(6_000);
    let doubled = format!("['{}']{}.size() == 1", "x".repeat(1000), ".map(x, x + x)".repeat(16));
    let shared = format!("[[0]]{0} == [[0]]{0}", ".map(x, [x, x])".repeat(40));
    [
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))",
        "lists.range(99000).map(x, x).all(x, x >= 0)",
        "lists.range(9223372036854775807).size() > 0",
        "lists.range(1000).all(a, !(a + 1000 in lists.range(1000)))",
        "lists.range(2000).distinct().size() == 2000",
        "lists.range(2000).sortBy(x, -x).sortBy(x, x).sortBy(x, -x).sort().sum() == lists.range(90000).sum()",
        "lists.range(900).all(x, 'aaaaaaaaaaaaaaaaaaaaaaaa'.matches('^((((a?){8}){8}a){8})*$'))",
        "lists.range(900).all(x, 'aaaaaaaaaaaaaaaaaaaaaaaa'.matches('(((){8}){8}){8}'))",
        "lists.range(30000).all(x, quantity(string(x)).add(quantity('1.5Gi')).isGreaterThan(quantity('1')) && x < 99999)",
        "lists.range(30000).all(x, timestamp(x).getFullYear('+02:00') == 1970 && duration(string(x) + 's') >= duration('0s'))",
        "lists.range(9000).all(x, '%d of %s'.format([x, lists.range(50)]) != '')",
        "lists.range(30000).all(x, object.spec.containers.all(c, others.pods.all(o, o.name != c.name + string(x)) && [object, object].size() == 2))",
        "lists.range(30000).all(x, node.devices.size() + node.facts.size() + x >= 0)",
        &format!("lists.range(2500).all(x, {{'{letters}': 1}} != {{}})"),
        &format!("'{}'.findAll('a*b|a').size() > 0", &letters[..4000]),
        &doubled,
        &shared,
    ]
    .map(str::to_owned)
    .into()
}

async fn the_dearest_rules_end_at_their_own_limit_and_in_no_timeout() {
    let rules = dearest();
    let configurations: Vec<Value> =
        rules.iter().map(|rule| json!({"validations": [{"expression": rule, "message": "no"}]})).collect();
    let node = node(&configurations).await;
    let answers = steps(&node, request(pod("web"))).await;
    assert_eq!(answers.len(), rules.len());
    for ((name, step), rule) in answers.iter().zip(&rules) {
        let status = node.status(name);
        assert_eq!(status.state, PluginState::Ready, "{rule:.90}: {:?}", status.detail);
        let HandlerStep::Answered(answer) = step else { panic!("{rule:.90}: {step:?}") };
        assert!(["limited", "failed"].contains(&word(answer, rule)), "{rule:.90}: {answer:?}");
        let HandlerResponse::Failure { message, .. } = &answer.response else { panic!("{answer:?}") };
        let limits = ["evaluation takes more than 200000 steps", "evaluation makes more than 4194304 bytes"];
        let is_named = limits.iter().any(|limit| message.contains(limit));
        assert!(message.contains("validations[0].expression: ") && is_named, "{rule:.90}: {message}");
    }
}

/// A kind of expressions: its beginning, a part that stands there again and again, the names, values and signs of that, and its end.
type Kind = (&'static str, String, usize, &'static str);

/// Each takes its time in another place.
fn kinds() -> Vec<Kind> {
    let large = "('a'.matches('^((([a-z]?){8}){8}){3}$') || true)";
    let part = |text: &str| text.to_owned();
    vec![
        ("true", part("&&1<2"), 4, ""),
        ("[1", part(",1"), 2, "].size() > 0"),
        ("dyn({0: 1", part(",1:1"), 4, "}) != 1"),
        ("'", part("a"), 0, "' != ''"),
        ("object.spec.hostNetwork", part("||object.spec.containers[0].securityContext.privileged"), 13, ""),
        ("true", part("&&size('a')<2"), 7, ""),
        ("true", part("&&[1].all(x,x<2)"), 14, ""),
        ("true", part("&&{'a':[1]}.a[0]in[1]"), 17, ""),
        ("true", part("&&[[[[[[[1]]]]]]]!=[]"), 19, ""),
        ("true", part("||quantity('1').isGreaterThan(quantity('2'))"), 13, ""),
        (large, part(" || true"), 2, ""),
        ("true", part("//a\n"), 0, ""),
    ]
}

/// Rules of this kind, as many as may be, and as long as may be with so many names, values and signs together.
fn filled((begin, part, tokens, end): &Kind, tokens_max: usize) -> Value {
    let count = SOURCES_BYTES_MAX / SOURCE_BYTES_MAX;
    let space = (SOURCE_BYTES_MAX - begin.len() - end.len()) / part.len();
    let parts = space.min((tokens_max / count - TOKENS_AROUND) / (*tokens).max(1));
    let expression = format!("{begin}{}{end}", part.repeat(parts));
    let rule = json!({"expression": expression, "message": "no"});
    json!({"validations": vec![rule; count]})
}

fn named(count: usize, expression: &str) -> Vec<Value> {
    (0..count).map(|index| json!({"name": format!("v{index}"), "expression": expression})).collect()
}

/// As many entries as may be.
fn entries(variable: &str, condition: &str) -> Value {
    json!({
        "params": {"names": vec!["registry.example.com"; 1000]},
        "variables": named(100, variable),
        "matchConditions": named(100, condition),
        "validations": vec![json!({"expression": condition, "message": "no"}); 100],
    })
}

async fn the_largest_rules_are_checked_and_asked_within_the_limits() {
    let mut taken: Vec<Value> = kinds().iter().map(|kind| filled(kind, TOKENS_MAX)).collect();
    taken.push(entries(&format!("[{}]", vec!["1"; 60].join(",")), &vec!["true"; 50].join("&&")));
    for configuration in taken {
        let what = format!("{:.120}", configuration["validations"][0].to_string());
        let node = node(&[configuration]).await;
        let status = node.status("r0");
        assert_eq!(status.state, PluginState::Ready, "{what}: {:?}", status.detail);
        let answers = steps(&node, request(pod("web"))).await;
        let [(_, HandlerStep::Answered(answer))] = answers.as_slice() else { panic!("{what}: {answers:?}") };
        assert_ne!(word(answer, &what), "not asked", "{what}");
    }
}

async fn rules_that_are_too_large_are_refused_within_the_limits() {
    let tokens = "validations: all expressions together have more than 32768 names, values and signs";
    let mut refused: Vec<(Value, &str)> = kinds()
        .iter()
        .filter(|(_, part, tokens, _)| tokens * 4 > part.len())
        .map(|kind| (filled(kind, usize::MAX), tokens))
        .collect();
    let large = entries("'a'.matches('^((([a-z]?){8}){8}){3}$')", "'a'.matches('^((([a-z]?){8}){8}){3}$')");
    refused.push((large, "compiling all patterns up to this one takes more than 200000 steps"));
    // Of each, what was meant is looked for.
    let unknown = format!("object.spec.{}", "containerz".repeat(6));
    refused.push((entries(&unknown, &unknown), "and 292 more expressions are wrong"));
    let unknown = format!("{}(1)", "startWith".repeat(7));
    refused.push((entries(&unknown, &unknown), "and 292 more expressions are wrong"));
    for (configuration, expected) in refused {
        let what = format!("{:.120}", configuration["validations"][0].to_string());
        let status = node(&[configuration]).await.status("r0");
        assert_eq!(status.state, PluginState::Failed, "{what}");
        let detail = status.detail.unwrap_or_default();
        assert!(detail.contains(expected), "{what}: {detail}");
    }
}
