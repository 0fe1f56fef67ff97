//! The layer `hostile`: inputs, servers and folders that mean harm. A plugin answers each within its limits, and never
//! reports as good what it couldn't see.

pub(crate) mod folders;
pub(crate) mod found;
pub(crate) mod inputs;
pub(crate) mod servers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use witlet_core::admission::Operation;
use witlet_core::error::one_line;
use witlet_core::probe::ProbeRequest;
use witlet_wasm::role::Role;

use self::found::InputFindings;
use self::inputs::{changed, pods, values};
use crate::check::{CheckResult, Checks, Named, cut};
use crate::ctx::Ctx;
use crate::environment::address::address;
use crate::plugin::validated;
use crate::plugin_request::{PluginRequest, admission_request, plain_pod, target};
use crate::plugin_response::{Fault, PluginResponse, ResponseKind, failure};
use crate::scenario::{Scenario, Stage, StageError, plain};

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
/// How much of an input is shown: enough to see what it is.
const INPUT_BYTES_MAX: usize = 200;
/// Of how many known parameters each field is changed.
const KNOWN_MAX: usize = 2;

type Hostile = (String, PluginRequest);

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles() {
        let plain = match plain(ctx, role) {
            Ok(plain) => plain,
            Err(why) => {
                checks.skip_all(role, &[CONFIG, PODS, PARAMETERS], &why);
                continue;
            }
        };
        checks.named(role, CONFIG, configs(ctx, &plain).await);
        match role {
            Role::Admission => ask_all(ctx, checks, &plain, PODS, hostile_pods()).await,
            Role::Probe => {
                ask_all(ctx, checks, &plain, PARAMETERS, parameters(&ctx.parameters())).await;
                ask_all(ctx, checks, &plain, TARGETS, targets(&ctx.parameters()[0])).await;
                servers::examine(ctx, checks).await;
            }
            Role::PodSource => folders::examine(ctx, checks, &plain).await,
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
            let judge = async |question: &PluginRequest| (question.shown(), ask(&mut stage, question).await);
            judge_all(questions, judge).await
        }
        Err(error) => CheckResult::Skipped { why: error.into() },
    };
    checks.named(scenario.setup.role, check, result);
}

/// Judges inputs one after the other, as long as there are answers in time. `judge` says how an input is shown, and what is wrong.
async fn judge_all<T>(
    inputs: impl IntoIterator<Item = (String, T)>,
    mut judge: impl AsyncFnMut(&T) -> (String, Option<Fault>),
) -> CheckResult {
    let mut found = InputFindings::default();
    for (name, input) in inputs {
        if found.gives_up() {
            break;
        }
        let (shown, fault) = judge(&input).await;
        found.add(&name, &format!("{name}: {}", cut(shown, INPUT_BYTES_MAX)), fault);
    }
    found.result()
}

/// Of parameters alone: what the plugin has nothing against it must be able to probe with.
async fn ask(stage: &mut Stage, question: &PluginRequest) -> Option<Fault> {
    let answered = stage.ask_this(question).await.result;
    match (&answered, question) {
        (Ok(PluginResponse { kind: ResponseKind::Done, .. }), PluginRequest::Check(parameters)) => {
            let probe = PluginRequest::probe(target(plain_pod(), parameters));
            let probed = stage.ask_this(&probe).await.result;
            Some(failure(&probed, ACCEPTED)?.after("check-parameters is content, and the probe"))
        }
        (..) => failure(&answered, question.contract()),
    }
}

/// Configurations: `validate` takes them or refuses them, and what it takes the plugin can work with.
async fn configs(ctx: &Ctx<'_>, plain: &Scenario) -> CheckResult {
    let plain = plain.with(|plain| {
        plain.setup.timeout = plain.setup.timeout.max(TIME);
        if plain.setup.role == Role::Probe {
            plain.question = PluginRequest::about(Role::Probe, plain_pod(), "{}");
        }
    });
    let values = hostile_values("its configuration", [&plain.setup.config]);
    let judge = async |config: &Value| {
        let configured = plain.with(|plain| plain.setup.config = config.clone());
        (config.to_string(), judge(ctx, &configured).await)
    };
    judge_all(values, judge).await
}

/// Loads the plugin with a configuration, and asks it something ordinary if it is content.
async fn judge(ctx: &Ctx<'_>, scenario: &Scenario) -> Option<Fault> {
    match scenario.stage(ctx).await {
        Ok(mut stage) => {
            let answered = stage.ask().await.result;
            Some(failure(&answered, TAKEN)?.after("validate is content, and then"))
        }
        Err(StageError::Load(error)) => match validated::<()>(Err(error)) {
            Ok(answered) => failure(&answered, VALIDATES),
            Err(error) => Some(Fault::new(one_line(&error), VALIDATES)),
        },
        // The machine has no capacity for it.
        Err(StageError::Environment(_)) => None,
    }
}

/// Values that no plugin expects, and expected ones with one thing changed, each once.
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
    all.map(|(name, value)| (name, PluginRequest::Check(value.to_string().into()))).collect()
}

fn hostile_pods() -> Vec<Hostile> {
    let both = pods().into_iter().flat_map(|(name, pod)| {
        [Operation::Add, Operation::Resize]
            .map(|operation| (name.clone(), PluginRequest::admit(admission_request(operation, pod.clone()))))
    });
    both.collect()
}

fn targets(parameters: &str) -> Vec<Hostile> {
    let of_pods = pods().into_iter().map(|(name, pod)| (name, PluginRequest::probe(target(pod, parameters))));
    let plain = || target(plain_pod(), parameters);
    let at = |pod_ips| ProbeRequest { pod_ips, ..plain() };
    let elsewhere = [
        ("a pod without an address", at(Vec::new())),
        ("a pod with an address of IPv6 only", at(vec![[0, 0, 0, 0, 0, 0, 0, 1].into()])),
        ("a pod with very many addresses", at(vec![address(); 1000])),
    ]
    .map(|(name, request)| {
        (name.to_owned(), PluginRequest::Probe { request: Box::new(request), own_address: false })
    });
    let others = [
        ("a node without an address", ProbeRequest { host_ips: Vec::new(), ..plain() }),
        (
            "a container that the pod doesn't have",
            ProbeRequest { container: "another".to_owned(), ..plain() },
        ),
        ("a container without a name", ProbeRequest { container: String::new(), ..plain() }),
        ("a container that was restarted for years", ProbeRequest { restarts: u32::MAX, ..plain() }),
    ]
    .map(|(name, request)| (name.to_owned(), PluginRequest::probe(request)));
    of_pods.chain(elsewhere).chain(others).collect()
}

#[cfg(test)]
mod tests;
