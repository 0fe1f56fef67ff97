//! What is withheld from probe types, in the cases in which they pass.

use witlet_wasm::role::Role;

use super::{Withheld, holds, not_granted, secrets_of, tell};
use crate::cases::{CaseFile, ProbeCase};
use crate::hostile::stage::{passing, stage};
use crate::properties::answers;
use crate::properties::questions::{outcome_told, passes};
use crate::scene::{Behaviour, ExecEnd};
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Probe;
/// How many cases are tried without each of the grants.
const CASES_MAX: usize = 6;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for withheld in Withheld::wanted(ctx, ROLE) {
        let result = without(ctx, withheld).await;
        tell(checks, ROLE, withheld, result);
    }
}

async fn without(ctx: &Ctx<'_>, withheld: Withheld) -> Result<Option<Finding>, String> {
    let cases = passing(ctx);
    if cases.is_empty() {
        return Err("there is no case in which a probe passes: add one (--cases)".to_owned());
    }
    let mut tried = 0;
    for (file, case) in cases {
        let setup = ctx.setup_of(file, case.config.as_ref()).map_err(|error| error.to_string())?;
        if tried == CASES_MAX || !withheld.is_granted(&setup) {
            continue;
        }
        tried += 1;
        // A plugin that refuses its configuration without what it needs has said so.
        let staged = match stage(ctx, file, case, &case.servers, |setup| withheld.withhold(setup)).await {
            Ok(staged) => staged,
            Err(why) if why.contains("refuses its configuration") => continue,
            Err(why) => return Err(why),
        };
        let asked = staged.prober.check_and_probe(&staged.request).await;
        let input = format!("case {:?}, with {}", case.name, withheld.told());
        if let Some(fault) = answers::no_outcome(&asked.result) {
            return Ok(Some(Finding::new(input, fault.seen, withheld.contract())));
        }
        if passes(&asked.result) && needs(file, case, withheld) {
            return Ok(Some(Finding::new(input, outcome_told(&asked.result), withheld.contract())));
        }
    }
    if tried > 0 { Ok(None) } else { Err(not_granted(withheld)) }
}

/// Whether a probe can't pass in this case without it, by what the case's servers and commands answer.
fn needs(file: &CaseFile, case: &ProbeCase, withheld: Withheld) -> bool {
    match withheld {
        Withheld::Network => !case.servers.is_empty(),
        Withheld::Exec => case.execs.iter().any(|exec| matches!(exec.end, ExecEnd::Exit { code: 0, .. })),
        Withheld::SecretNotGranted | Withheld::SecretNotFound => {
            secrets_of(file).into_iter().any(|secret| expects(case, secret))
        }
        Withheld::Files | Withheld::State => false,
    }
}

/// Whether a server or a command of the case wants to hear a secret.
fn expects(case: &ProbeCase, secret: &[u8]) -> bool {
    let servers = case.servers.iter().any(|server| match &server.behaviour {
        Behaviour::Dialog(turns) | Behaviour::Drip(turns) => {
            turns.iter().any(|turn| holds(&turn.receive, secret) || holds(&turn.until, secret))
        }
        Behaviour::Http(answers) => answers
            .iter()
            .any(|answer| answer.request_headers.iter().any(|header| holds(header.as_bytes(), secret))),
        Behaviour::Refuse
        | Behaviour::Silent
        | Behaviour::Reset
        | Behaviour::Close
        | Behaviour::Garbage
        | Behaviour::Endless => false,
    });
    let commands =
        case.execs.iter().flat_map(|exec| &exec.command).any(|word| holds(word.as_bytes(), secret));
    servers || commands
}
