//! The layer `grants`: what a plugin was granted is withheld, one thing at a time. It says so in its answers, and neither traps nor
//! reports as done what it couldn't do. It discloses no secret.

use serde_json::{Value, json};
use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use crate::cases::matching::line_text;
use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::environment::commands::ExecAnswer;
use crate::plugin_response::{ResponseKind, failure, in_words, is, passes};
use crate::scenario::{Scenario, StageError, good, scenarios};
use crate::setup::Setup;

/// The name of a secret that isn't there.
const OTHER_SECRET: &str = "withheld-by-the-kit";
/// How many scenarios are tried without each of the grants.
const CASES_MAX: usize = 6;
/// A shorter secret can't be distinguished from other words.
const SECRET_BYTES_MIN: usize = 4;

const UNTOLD: Named = ("grants/secrets-untold", "no answer and no line of the log holds a secret");
const SECRETS: &str = "witlet:host/secret: values that stand neither in the configuration nor in pods; what a plugin answers is shown in \
                       events and statuses, and what it logs stands in the node's log";
const RESULT: &str =
    "secret.get is a result: where there is no value, a plugin answers with a failure or an error";
const FOLDERS: &str =
    "without the grant `files` there are no folders; a source answers with an error, and never with `empty`";

/// Something that a plugin can be granted, and how it is withheld.
struct Withheld {
    check: Named,
    /// The field of `grants`.
    grant: &'static str,
    roles: &'static [Role],
    /// What stands in the plugin's way, for findings.
    condition: &'static str,
    contract: &'static str,
    withhold: fn(&mut Setup),
    /// Whether a probe can't pass without it, by what the scenario's servers and commands answer.
    is_needed: fn(&Scenario) -> bool,
}

const WITHHELD: [Withheld; 5] = [
    // Finds `success-without-network`.
    Withheld {
        check: ("grants/network", "without the network it says what it couldn't do"),
        grant: "network",
        roles: &[Role::Probe, Role::PodSource],
        condition: "the grant `network` withheld",
        contract: "without the grant `network` connections fail with access-denied; a plugin answers with a failure or an error",
        withhold: |setup| {
            // Without a network the others say nothing.
            for grant in ["network", "tls", "tlsAuthorities", "tlsClientCertificate"] {
                remove(&mut setup.grants, grant);
            }
        },
        is_needed: |scenario| !scenario.servers.is_empty(),
    },
    // Finds `success-without-secret`.
    Withheld {
        check: ("grants/secret-not-granted", "without a grant of its secrets it says what it couldn't do"),
        grant: "secrets",
        roles: &Role::ALL,
        condition: "the grant of its secrets withheld (secret-error.not-granted)",
        contract: RESULT,
        // A component that imports them isn't loaded without any.
        withhold: |setup| setup.grants["secrets"] = json!([OTHER_SECRET]),
        is_needed: wants_a_secret,
    },
    // Finds `trap-without-secret`.
    Withheld {
        check: ("grants/secret-not-found", "without values of its secrets it says what it couldn't do"),
        grant: "secrets",
        roles: &Role::ALL,
        condition: "the values of its secrets withheld (secret-error.not-found)",
        contract: RESULT,
        withhold: |setup| setup.secrets.clear(),
        is_needed: wants_a_secret,
    },
    // Finds `trap-without-command`, `success-without-command`.
    Withheld {
        check: ("grants/exec", "without commands it says what it couldn't do"),
        grant: "exec",
        roles: &[Role::Probe],
        condition: "commands that can't be run (exec-error.failed)",
        contract: "exec.run is a result: where a command couldn't be run, a probe answers with a failure or an error",
        withhold: |setup| setup.execs.clear(),
        is_needed: |scenario| scenario.setup.execs.iter().any(ExecAnswer::succeeds),
    },
    // Finds `empty-on-error`, `trap-without-folder`.
    Withheld {
        check: ("grants/files", "without its folders it says what it couldn't do"),
        grant: "files",
        roles: &[Role::PodSource],
        condition: "the grant `files` withheld",
        contract: FOLDERS,
        withhold: |setup| {
            remove(&mut setup.grants, "files");
            setup.guest_paths.clear();
        },
        is_needed: |_| false,
    },
];

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let (needs, may_use) = (&ctx.inspection.needs_grants, &ctx.inspection.may_use_grants);
    for role in ctx.roles() {
        for withheld in WITHHELD.iter().filter(|withheld| withheld.roles.contains(&role)) {
            if needs.iter().chain(may_use).any(|grant| *grant == withheld.grant) {
                checks.named(role, withheld.check, without(ctx, role, withheld).await);
            }
        }
        if needs.contains(&"secrets") {
            checks.named(role, UNTOLD, secrets(ctx, role).await);
        }
    }
}

fn remove(grants: &mut Value, name: &str) {
    if let Value::Object(fields) = grants {
        fields.remove(name);
    }
}

fn is_granted(grant: &str, setup: &Setup) -> bool {
    if grant == "files" && !setup.guest_paths.is_empty() {
        return true;
    }
    match setup.grants.get(grant) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(granted)) => *granted,
        Some(Value::Array(granted)) => !granted.is_empty(),
        Some(Value::Number(_) | Value::String(_) | Value::Object(_)) => true,
    }
}

async fn without(ctx: &Ctx<'_>, role: Role, withheld: &Withheld) -> Tried {
    let granted = good(ctx, role)?.into_iter().filter(|scenario| is_granted(withheld.grant, &scenario.setup));
    let granted: Vec<Scenario> = granted.take(CASES_MAX).collect();
    if granted.is_empty() {
        return Err(format!("it isn't granted `{}`, so that there is nothing to withhold", withheld.grant));
    }
    for scenario in granted {
        let input = format!("{}, with {}", scenario.shown(), withheld.condition);
        let finding = |seen| Ok(Some(Finding::new(input, seen, withheld.contract)));
        let staged = scenario.with(|scenario| (withheld.withhold)(&mut scenario.setup)).stage(ctx).await;
        let mut stage = match staged {
            Ok(stage) => stage,
            // A plugin that refuses its configuration without what it needs has said so.
            Err(StageError::Load(
                LoadError::Configuration { .. } | LoadError::Validate(CallError::Refused { .. }),
            )) => continue,
            Err(StageError::Load(error)) => return finding(error.sentence()),
            Err(error @ StageError::Environment(_)) => return Err(error.into()),
        };
        let answered = stage.ask().await.result;
        if let Some(fault) = failure(&answered, withheld.contract) {
            return finding(fault.seen);
        }
        let from_nothing = passes(&answered) && (withheld.is_needed)(&scenario);
        if from_nothing || is(&answered, ResponseKind::Empty) {
            return finding(in_words(&answered));
        }
    }
    Ok(None)
}

/// Whether a server or a command expects one of the plugin's secrets.
fn wants_a_secret(scenario: &Scenario) -> bool {
    let holds = |bytes: &[u8]| {
        let secrets = scenario.setup.secrets.values().filter(|secret| !secret.is_empty());
        secrets.into_iter().any(|secret| bytes.windows(secret.len()).any(|window| window == secret))
    };
    let servers = scenario.servers.iter().any(|server| {
        let headers = server.http.iter().flat_map(|answer| answer.request_headers.values());
        headers.into_iter().any(|value| holds(value.as_bytes()))
            || server.dialog.iter().any(|turn| holds(&turn.receive) || holds(&turn.until))
    });
    servers || scenario.setup.execs.iter().flat_map(|exec| &exec.command).any(|word| holds(word.as_bytes()))
}

/// Finds `tells-in-its-detail`, `tells-in-its-log`.
async fn secrets(ctx: &Ctx<'_>, role: Role) -> Tried {
    let setup = ctx.setup(role)?;
    let values = setup.secrets.iter().filter(|(_, value)| value.len() >= SECRET_BYTES_MIN);
    let secrets: Vec<(&String, String)> =
        values.map(|(name, value)| (name, String::from_utf8_lossy(value).into_owned())).collect();
    if secrets.is_empty() {
        return Err(
            "it is given no secret of four bytes or more: add one (`secrets` of a case file)".to_owned()
        );
    }
    for scenario in scenarios(ctx, role)? {
        // A scenario whose configuration is to be refused has nothing to say.
        let Ok(mut stage) = scenario.stage(ctx).await else { continue };
        let answered = stage.ask().await.result;
        let lines = stage.plugin.lines().into_iter().map(|line| ("a line of its log", line_text(&line)));
        // Pods are what a source is for; what else it says is for people.
        for (place, text) in lines.chain([("its answer", in_words(&answered))]) {
            if let Some(seen) = holds_a_secret(&secrets, place, &text) {
                return Ok(Some(Finding::new(scenario.shown(), seen, SECRETS)));
            }
        }
    }
    Ok(None)
}

/// Which secret a text holds. The finding doesn't repeat it.
fn holds_a_secret(secrets: &[(&String, String)], place: &str, text: &str) -> Option<String> {
    let (name, value) = secrets.iter().find(|(_, value)| text.contains(value.as_str()))?;
    let shown = text.replace(value.as_str(), &format!("<{name}>"));
    Some(format!("the secret {name:?} in {place}: {shown}"))
}

#[cfg(test)]
mod tests;
