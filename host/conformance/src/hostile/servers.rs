//! Servers that refuse, break off, say nothing, too much or nonsense, in place of those of the cases in which a probe passes.

use std::time::Duration;

use witlet_wasm::role::Role;

use super::found::InputFindings;
use crate::check::{Checks, Named};
use crate::ctx::Ctx;
use crate::environment::servers::{Behaviour, Protocol};
use crate::plugin_response::{CallResult, Fault, PluginResponse, ResponseKind, failure, in_words, passes};
use crate::scenario::{Scenario, Stage, with_servers};

/// Finds `error-for-a-refusal`, `trap-on-garbage`, `hoards-what-it-reads`, `never-ends`.
const ANSWERS: Named = ("hostile/servers", "whatever a server does, there is an outcome");
/// Finds `ignores-its-deadline`, `reads-without-end`.
const DEADLINE: Named = ("hostile/deadline", "a probe ends by itself when its time is over");
/// Finds `success-when-refused`, `success-after-silence`.
const NOTHING: Named = ("hostile/success-from-nothing", "a probe doesn't pass without an answer");
const REMAINING: &str = "target.remaining-milliseconds: milliseconds until the probe's time is over; a probe that still waits for \
                         something then counts as failed, in the host's words and not in its own";
const SUCCESS: &str = "outcome.success: the container does what it should; a server that refuses, or says nothing, has shown nothing";

/// How many cases are tried: each takes all of its time several times.
const CASES_MAX: usize = 3;
/// What a probe has for a server that means harm.
const TIME: Duration = Duration::from_millis(600);
/// How often a probe that the host had to end is done. The host ends one that waits, whether for a server or for its turn after its own
/// timer has fired: processor time is near zero in both, and only that a busy machine isn't late each time tells them apart.
const PROBES: usize = 3;

/// What servers do in place of what they should, with words for people.
pub(super) const HARM: [(&str, Behaviour); 7] = [
    ("a server that refuses", Behaviour::Refuse),
    ("a server that resets", Behaviour::Reset),
    ("a server that closes at once", Behaviour::Close),
    ("a server that says nothing", Behaviour::Silent),
    ("a server that says what means nothing", Behaviour::Garbage),
    ("a server that never stops", Behaviour::Endless),
    ("a server that says a byte now and then", Behaviour::Drip),
];

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let role = Role::Probe;
    let scenarios = match with_servers(ctx, role) {
        Ok(scenarios) => scenarios,
        Err(why) => return checks.skip_all(role, &[ANSWERS, DEADLINE, NOTHING], &why),
    };
    let mut found: [InputFindings; 3] = Default::default();
    for scenario in scenarios.iter().take(CASES_MAX) {
        if found.iter().any(InputFindings::gives_up) {
            break;
        }
        if let Err(why) = examine_case(ctx, scenario, &mut found).await {
            found.iter_mut().for_each(|found| found.untried(why.clone()));
        }
    }
    for ((id, title), found) in [ANSWERS, DEADLINE, NOTHING].into_iter().zip(found) {
        checks.add(role, id, title, found.result());
    }
}

async fn examine_case(
    ctx: &Ctx<'_>,
    scenario: &Scenario,
    found: &mut [InputFindings; 3],
) -> Result<(), String> {
    let [answers, deadline, nothing] = found;
    let mut passed = Vec::new();
    for (harm, behaviour) in HARM {
        let harmed = scenario.with(|scenario| {
            scenario.servers.iter_mut().for_each(|server| *server = server.harmed(behaviour));
            scenario.question.give(TIME);
        });
        let answered = probe(&mut harmed.stage(ctx).await?).await;
        let name = format!("{harm} in {}", scenario.name);
        answers.add(&name, &name, failure(&answered, harmed.question.contract()));
        let cut = || Fault { is_late: true, ..Fault::new(in_words(&answered), REMAINING) };
        deadline.add(&name, &name, was_cut(&answered).then(cut));
        if passes(&answered) {
            passed.push((harm, behaviour, in_words(&answered)));
        }
    }
    let datagrams = scenario.servers.iter().any(|server| server.protocol == Protocol::Udp);
    let seen = from_nothing(&passed, datagrams);
    nothing.add(&scenario.name, &scenario.name, seen.map(|seen| Fault::new(seen, SUCCESS)));
    Ok(())
}

async fn probe(stage: &mut Stage) -> CallResult {
    let mut answered = stage.ask().await.result;
    for _ in 1..PROBES {
        if !was_cut(&answered) {
            break;
        }
        answered = stage.ask().await.result;
    }
    answered
}

/// Whether the host ended it. It says so in words of its own, because a probe that waits too long counts as one that failed.
fn was_cut(answered: &CallResult) -> bool {
    let words = "no answer within ";
    matches!(answered, Ok(PluginResponse { kind: ResponseKind::Failure, text, .. }) if text.starts_with(words))
}

/// Which success came from nothing. No server is nothing in any case. A server that says nothing is enough for a
/// probe that only connects, but not for one that fails when the server closes or says the wrong thing.
fn from_nothing(passed: &[(&str, Behaviour, String)], datagrams: bool) -> Option<String> {
    let passes = |expected| passed.iter().any(|(_, behaviour, _)| *behaviour == expected);
    let listens = passes(Behaviour::Close) && passes(Behaviour::Garbage);
    let found = passed.iter().find(|(_, behaviour, _)| match behaviour {
        Behaviour::Refuse => true,
        Behaviour::Silent => !listens,
        // A datagram learns no more of these than of silence.
        Behaviour::Reset | Behaviour::Close => datagrams,
        _ => false,
    });
    found.map(|(harm, _, answer)| format!("with {harm}: {answer}"))
}

#[cfg(test)]
mod tests;
