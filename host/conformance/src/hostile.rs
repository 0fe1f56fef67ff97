//! The layer `hostile`: inputs, servers and folders that mean harm. Whatever comes, a plugin answers within its limits, and never
//! takes what it couldn't see for good news.

pub(crate) mod folders;
pub(crate) mod found;
pub(crate) mod inputs;
pub(crate) mod servers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use witlet_core::admission::Operation;
use witlet_core::probe::ProbeRequest;
use witlet_wasm::role::Role;

use self::found::{Found, short};
use self::inputs::{ODD, changed, pods, values};
use crate::answer::{Answer, AnswerKind, Fault, failure};
use crate::check::{CheckResult, Checks, Finding, Named};
use crate::ctx::Ctx;
use crate::plugin::validated;
use crate::question::{Question, admission_request, plain_pod, target};
use crate::scenario::{Scenario, Stage, StageError, plain};
use crate::scene::address::address;

/// Finds `validate-unwraps`, `validate-spins`.
const CONFIG: Named =
    ("hostile/config", "a configuration that makes no sense is refused in the plugin's own words");
/// Finds `trap-without-labels`, `port-as-u16`, `hoards-a-huge-pod`, `compares-all-labels` and others that can't cope with some pod.
const PODS: Named = ("hostile/pods", "every pod that a host can have gets a verdict");
/// Finds `check-accepts-anything`, `nan-is-a-number`, `trap-on-null-parameters`, `recurses-with-parameters`.
const PARAMETERS: Named =
    ("hostile/parameters", "parameters that make no sense are refused in the plugin's own words");
/// Finds `trap-without-address`.
const TARGETS: Named = ("hostile/targets", "every target that a host can have gets an outcome");
const CURSORS: Named = ("hostile/cursors", "whatever the cursor is, there is an answer");
const VALIDATES: &str = "validate gets whatever stands under `config:`, and an error refuses the plugin in its own words; nothing \
                         else may come of it";
const TAKEN: &str =
    "validate is asked so that a configuration which the plugin can't work with is refused when it is loaded";
const ACCEPTED: &str = "prober.check-parameters is asked before the first probe with these parameters: what it is content with can \
                        be probed";

/// What a handler has at least: how fast it is with a configuration isn't the question here.
const TIME: Duration = Duration::from_millis(500);
/// How many configurations or sets of parameters are tried.
const VALUES_MAX: usize = 160;
/// Of how many known parameters each field is changed.
const KNOWN_MAX: usize = 2;

/// A question with its name for people.
type Hostile = (String, Question);

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles() {
        let result = configs(ctx, role).await;
        checks.add(role, CONFIG.0, CONFIG.1, result);
        let plain = match plain(ctx, role) {
            Ok(plain) => plain,
            Err(why) => {
                checks.skip_all(role, &[PODS, PARAMETERS, CURSORS], &why);
                continue;
            }
        };
        match role {
            Role::Admission => {
                ask_all(ctx, checks, &plain, PODS, hostile_pods()).await;
            }
            Role::Probe => {
                ask_all(ctx, checks, &plain, PARAMETERS, parameters(&ctx.parameters())).await;
                ask_all(ctx, checks, &plain, TARGETS, targets(&ctx.parameters()[0])).await;
                servers::examine(ctx, checks).await;
            }
            Role::PodSource => {
                folders::examine(ctx, checks, &plain).await;
                ask_all(ctx, checks, &plain, CURSORS, cursors()).await;
            }
        }
    }
}

/// Asks one plugin after the other question, and judges how each answer failed to come.
async fn ask_all(
    ctx: &Ctx<'_>,
    checks: &mut Checks<'_>,
    scenario: &Scenario,
    check: Named,
    questions: Vec<Hostile>,
) {
    let result = match scenario.stage(ctx).await {
        Ok(mut stage) => {
            let mut found = Found::default();
            for (name, question) in questions {
                if found.gives_up() {
                    break;
                }
                let input = format!("{name}: {}", short(&question.shown()));
                let fault = ask(&mut stage, &question).await;
                found.add(&name, fault.map(|(seen, contract)| Finding::new(input, seen, contract)));
            }
            found.result()
        }
        Err(error) => CheckResult::Skipped { why: error.into() },
    };
    checks.add(scenario.setup.role, check.0, check.1, result);
}

/// Of parameters alone: what the plugin has nothing against it must be able to probe with.
async fn ask(stage: &mut Stage, question: &Question) -> Option<Fault> {
    let answered = stage.ask_this(question).await.result;
    match (&answered, question) {
        (Ok(Answer { kind: AnswerKind::Done, .. }), Question::Check(parameters)) => {
            let probe = Question::probe(target(plain_pod(), parameters));
            let probed = stage.ask_this(&probe).await.result;
            let (seen, _) = failure(&probed, ACCEPTED)?;
            Some((format!("check-parameters is content, and the probe: {seen}"), ACCEPTED))
        }
        (..) => failure(&answered, question.contract()),
    }
}

/// Configurations: `validate` takes them or refuses them, and what it takes the plugin can work with.
async fn configs(ctx: &Ctx<'_>, role: Role) -> CheckResult {
    let mut plain = match plain(ctx, role) {
        Ok(plain) => plain,
        Err(why) => return CheckResult::Skipped { why },
    };
    plain.setup.timeout = plain.setup.timeout.max(TIME);
    if role == Role::Probe {
        plain.question = Question::about(role, plain_pod(), "{}");
    }
    let mut found = Found::default();
    for (name, config) in hostile_values("its configuration", [&plain.setup.config]) {
        if found.gives_up() {
            break;
        }
        let input = format!("{name}: {}", short(&config.to_string()));
        let fault = judge(ctx, &plain.with(|plain| plain.setup.config = config)).await;
        found.add(&name, fault.map(|(seen, contract)| Finding::new(input, seen, contract)));
    }
    found.result()
}

/// Loads the plugin with a configuration, and asks it something ordinary if it is content.
async fn judge(ctx: &Ctx<'_>, scenario: &Scenario) -> Option<Fault> {
    match scenario.stage(ctx).await {
        Ok(mut stage) => {
            let answered = stage.ask().await.result;
            let (seen, _) = failure(&answered, TAKEN)?;
            Some((format!("validate is content, and then: {seen}"), TAKEN))
        }
        Err(StageError::Load(error)) => match validated::<()>(&Err(error)) {
            Ok(answered) => failure(&answered, VALIDATES),
            Err(seen) => Some((seen, VALIDATES)),
        },
        // The machine has no room for it.
        Err(StageError::Scene(_)) => None,
    }
}

/// What is nobody's value, and known ones with one thing changed, each once.
fn hostile_values<'a>(what: &str, known: impl IntoIterator<Item = &'a Value>) -> Vec<(String, Value)> {
    let values = values().into_iter().map(|(name, value)| (format!("{name} as {what}"), value));
    let changed = known.into_iter().flat_map(changed).map(|(name, value)| (format!("{what} {name}"), value));
    let mut seen = BTreeSet::new();
    let all = values.chain(changed).filter(|(_, value)| seen.insert(value.to_string()));
    all.take(VALUES_MAX).collect()
}

fn parameters(known: &[Arc<str>]) -> Vec<Hostile> {
    let known = known.iter().take(KNOWN_MAX).filter_map(|text| serde_json::from_str(text).ok());
    let known: Vec<Value> = known.collect();
    let all = hostile_values("parameters", &known).into_iter();
    all.map(|(name, value)| (name, Question::Check(value.to_string().into()))).collect()
}

fn hostile_pods() -> Vec<Hostile> {
    let both = pods().into_iter().flat_map(|(name, pod)| {
        [Operation::Add, Operation::Resize]
            .map(|operation| (name.clone(), Question::admit(admission_request(operation, pod.clone()))))
    });
    both.collect()
}

fn targets(parameters: &str) -> Vec<Hostile> {
    let of_pods = pods().into_iter().map(|(name, pod)| (name, Question::probe(target(pod, parameters))));
    let plain = || target(plain_pod(), parameters);
    let at = |pod_ips| ProbeRequest { pod_ips, ..plain() };
    let elsewhere = [
        ("a pod without an address", at(Vec::new())),
        ("a pod with an address of IPv6 only", at(vec![[0, 0, 0, 0, 0, 0, 0, 1].into()])),
        ("a pod with very many addresses", at(vec![address(); 1000])),
    ]
    .map(|(name, request)| {
        (name.to_owned(), Question::Probe { request: Box::new(request), own_address: false })
    });
    let others = [
        ("a node without an address", ProbeRequest { host_ips: Vec::new(), ..plain() }),
        ("a container that the pod doesn't have", ProbeRequest { container: "nobody".to_owned(), ..plain() }),
        ("a container without a name", ProbeRequest { container: String::new(), ..plain() }),
        ("a container that was restarted for years", ProbeRequest { restarts: u32::MAX, ..plain() }),
    ]
    .map(|(name, request)| (name.to_owned(), Question::probe(request)));
    of_pods.chain(elsewhere).chain(others).collect()
}

/// Cursors that aren't the source's own: of an older release, or cut.
fn cursors() -> Vec<Hostile> {
    let long = "c".repeat(4 << 10);
    let more = [
        ("an empty cursor", ""),
        ("a cursor of 4 KiB", long.as_str()),
        ("a cursor that is JSON", r#"{"a": [1]}"#),
    ];
    let all = ODD.into_iter().chain(more);
    all.map(|(name, cursor)| (name.to_owned(), Question::Poll(Some(cursor.to_owned())))).collect()
}

#[cfg(test)]
mod tests;
