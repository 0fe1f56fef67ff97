//! Whole configurations of the handler `cel`, checked and asked about pods: `plugins/cel`.

use std::hash::{DefaultHasher, Hash, Hasher};

use cel::{Action, Config, Limits};
use witlet_plugin_sdk_0_2::facts::{
    NodeFacts, PodFacts, RequestFacts, ResolvedImageFacts, take_log, validate,
};
use witlet_plugin_sdk_0_2::{Datetime, Decision, Error, Operation, Verdict};
use witlet_rule_cases::{Choices, PodQuestion, rules};

use crate::{Target, check_message, split_at_line};

/// What stands between the expressions and the seed.
const SEPARATOR: &str = "---";

/// Fewer than a node's, so that many inputs are tried in little time.
const LIMITS: Limits = Limits { steps: 20_000, bytes: 1 << 20, depth: 100 };

/// Lines that are taken as expressions.
const EXPRESSIONS_MAX: usize = 120;

/// The longest message of a verdict, but for an expression that it cites.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// So many expressions are named at once.
const REPORTED_MAX: usize = 8;

pub(crate) const TARGET: Target = Target {
    name: "cel_rules",
    run,
    words: &[
        "\n",
        "variables.v0",
        "variables.v1 == ",
        "oldObject.",
        "oldObject.spec.containers",
        "object.status.containerStatuses",
        "node.metadata.labels",
        "node.facts['a']",
        "node.devices",
        "request.requests",
        "request.hostPorts",
        "request.now",
        "others.requested",
        "others.pods.all(o, ",
        "image.digest",
        "image.credentials",
        "params.names",
        "params.in.it",
        "params",
        "has(variables.v0)",
        "[object, oldObject, node, request, others, image]",
        "lists.range(999)",
        " && ",
        " == ",
        " + ",
        ".map(x, ",
        "\n---\n",
        "1",
    ],
};

/// Expressions come first, one a line, then a line `---` and what all else follows from. The rules that are made of them are checked as
/// on a node, and those that are taken are asked about a pod.
fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (expressions, seed) = split_at_line(&text, SEPARATOR);
    let expressions: Vec<&str> =
        expressions.lines().filter(|line| !line.trim().is_empty()).take(EXPRESSIONS_MAX).collect();
    let mut hash = DefaultHasher::new();
    seed.hash(&mut hash);
    let mut choices = Choices::new(hash.finish());
    let rules = rules(&mut choices, &expressions);
    let facts = facts(&PodQuestion::new(&mut choices));
    let one = outcome(&rules, &facts);
    assert_eq!(format!("{one:?}"), format!("{:?}", outcome(&rules, &facts)), "the same outcome");
}

/// What comes of the rules: why they aren't taken, or what they say of the pod.
fn outcome(rules: &serde_json::Value, facts: &RequestFacts) -> Result<Verdict, Error> {
    let config: Config =
        serde_json::from_value(rules.clone()).map_err(|error| Error::new("NotDecoded", error.to_string()))?;
    let longest = longest(&config);
    validate(&config).inspect_err(|error| {
        let each = error.message().lines().map(str::len).max().unwrap_or_default();
        assert!(error.message().lines().count() <= REPORTED_MAX * (longest.lines + 1), "{error}");
        assert!(each <= MESSAGE_BYTES_MAX + longest.bytes, "a message of {each} bytes");
    })?;
    let verdict = config.admit_within(&facts.request(), LIMITS);
    take_log().iter().for_each(|line| check_message(&line.message, longest.bytes));
    match &verdict {
        Ok(verdict) => check_verdict(&config, verdict, longest.bytes),
        Err(error) => check_error(&config, error, longest.bytes),
    }
    verdict
}

/// The longest expression.
struct Longest {
    bytes: usize,
    lines: usize,
}

fn longest(config: &Config) -> Longest {
    let named = config.variables.iter().chain(&config.match_conditions).map(|named| &named.expression);
    let rules = config.validations.iter();
    let rules = rules.flat_map(|rule| std::iter::once(&rule.expression).chain(&rule.message_expression));
    let all: Vec<&String> = named.chain(rules).collect();
    Longest {
        bytes: all.iter().map(|expression| expression.len()).max().unwrap_or_default(),
        lines: all.iter().map(|expression| expression.split('\n').count()).max().unwrap_or_default(),
    }
}

/// A verdict is one of a rule of the configuration, in its words.
fn check_verdict(config: &Config, verdict: &Verdict, longest: usize) {
    let has_rule = |reason: &str, action| {
        config
            .validations
            .iter()
            .any(|rule| rule.action == action && rule.reason.as_deref().unwrap_or(cel::REASON) == reason)
    };
    match verdict.decision() {
        Decision::Admit => {}
        Decision::Reject { reason, message } => {
            assert!(has_rule(reason, Action::Reject), "no rule rejects with {reason:?}");
            assert!(!message.is_empty() && message.len() <= MESSAGE_BYTES_MAX + longest);
        }
        Decision::Defer { reason, message, retry_after } => {
            assert!(has_rule(reason, Action::Defer), "no rule defers with {reason:?}");
            assert!(!message.is_empty() && message.len() <= MESSAGE_BYTES_MAX + longest);
            assert!((1..=3600).contains(&retry_after.as_secs()), "{retry_after:?}");
        }
        other => panic!("rules don't answer {other:?}"),
    }
}

/// An error names the rule that couldn't be evaluated.
fn check_error(config: &Config, error: &Error, longest: usize) {
    assert_eq!(error.code(), "RuleFailed", "{error}");
    check_message(error.message(), longest);
    let conditions = config.match_conditions.iter().enumerate();
    let mut places: Vec<String> =
        conditions.map(|(index, named)| format!("matchConditions[{index}] ({}): ", named.name)).collect();
    places.extend((0..config.validations.len()).map(|index| format!("validations[{index}].expression: ")));
    assert!(places.iter().any(|place| error.message().starts_with(&**place)), "{error}");
}

fn facts(question: &PodQuestion) -> RequestFacts {
    RequestFacts {
        operation: Operation::from(question.operation.to_owned()),
        now: Datetime { seconds: question.now, nanoseconds: 0 },
        pod: PodFacts::of(&question.pod).with_source("api"),
        old_pod: question.old_pod.as_ref().map(PodFacts::of),
        image: question.image.as_ref().map(|image| ResolvedImageFacts {
            container: image.container.clone(),
            id: image.id.clone(),
            digest: image.digest.clone(),
            size: image.size_bytes,
            credentials: Some("node".to_owned()),
        }),
        node: NodeFacts::of(&question.node).with_fact("cgroup.version", "2"),
        other_pods: question.other_pods.iter().map(PodFacts::of).collect(),
    }
}
