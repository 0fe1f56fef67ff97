//! Servers that refuse, break off, say nothing, too much or nonsense, in place of those of the cases in which a probe passes.

use std::time::Duration;

use witlet_core::probe::ProbeOutcome;
use witlet_wasm::direct::Asked;
use witlet_wasm::role::Role;

use super::stage::{Staged, passing, stage};
use super::{Found, TRIES, patiently};
use crate::cases::{CaseFile, ProbeCase};
use crate::properties::answers;
use crate::properties::questions::{outcome_told, passes};
use crate::scene::{Behaviour, Protocol, ServerScript, Turn};
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Probe;
const ANSWERS: (&str, &str) = ("hostile/servers", "whatever a server does, there is an outcome");
const DEADLINE: (&str, &str) = ("hostile/deadline", "a probe ends by itself when its time is over");
const NOTHING: (&str, &str) = ("hostile/success-from-nothing", "a probe doesn't pass where nobody answers");
const REMAINING: &str = "target.remaining-milliseconds: milliseconds until the probe's time is over; a probe that still waits for \
                         something then counts as failed, in the host's words and not in its own";
const SUCCESS: &str = "outcome.success: the container does what it should; a server that refuses, or says nothing, has shown nothing";

/// How many cases are tried: each takes all of its time several times.
const CASES_MAX: usize = 3;
/// What a probe has for a server that means harm.
const TIME: Duration = Duration::from_millis(600);

/// What servers do in place of what they should, with words for people.
const HARM: [(&str, Harm); 7] = [
    ("a server that refuses", Harm::Refuse),
    ("a server that resets", Harm::Reset),
    ("a server that closes at once", Harm::Close),
    ("a server that says nothing", Harm::Silent),
    ("a server that says what means nothing", Harm::Garbage),
    ("a server that never stops", Harm::Endless),
    ("a server that says a byte now and then", Harm::Drip),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Refuse,
    Reset,
    Close,
    Silent,
    Garbage,
    Endless,
    Drip,
}

impl Harm {
    fn of(self, server: &ServerScript) -> ServerScript {
        let behaviour = match self {
            Self::Refuse => Behaviour::Refuse,
            Self::Reset => Behaviour::Reset,
            Self::Close => Behaviour::Close,
            Self::Silent => Behaviour::Silent,
            Self::Garbage => Behaviour::Garbage,
            Self::Endless => Behaviour::Endless,
            Self::Drip => Behaviour::Drip(turns(&server.behaviour)),
        };
        ServerScript { behaviour, ..server.clone() }
    }
}

/// What a server would have said.
fn turns(behaviour: &Behaviour) -> Vec<Turn> {
    match behaviour {
        Behaviour::Dialog(turns) | Behaviour::Drip(turns) => turns.clone(),
        Behaviour::Http(_) => {
            vec![Turn {
                send: b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n".to_vec(),
                ..Turn::default()
            }]
        }
        Behaviour::Refuse
        | Behaviour::Silent
        | Behaviour::Reset
        | Behaviour::Close
        | Behaviour::Garbage
        | Behaviour::Endless => vec![Turn { send: vec![b'x'; 1000], ..Turn::default() }],
    }
}

/// What the three checks found.
#[derive(Default)]
struct Three {
    answers: Found,
    deadline: Found,
    nothing: Found,
}

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let cases: Vec<_> = passing(ctx).into_iter().filter(|(_, case)| !case.servers.is_empty()).collect();
    if cases.is_empty() {
        let why = "there is no case in which a probe passes by a server: add one with `servers` (--cases)";
        for (id, title) in [ANSWERS, DEADLINE, NOTHING] {
            checks.skip(ROLE, id, title, why);
        }
        return;
    }
    let mut three = Three::default();
    for (file, case) in cases.into_iter().take(CASES_MAX) {
        if three.deadline.gives_up() || three.answers.gives_up() {
            break;
        }
        if let Err(why) = examine_case(ctx, file, case, &mut three).await {
            three.answers.untried(why.clone());
            three.deadline.untried(why.clone());
            three.nothing.untried(why);
        }
    }
    checks.add(ROLE, ANSWERS.0, ANSWERS.1, three.answers.result());
    checks.add(ROLE, DEADLINE.0, DEADLINE.1, three.deadline.result());
    checks.add(ROLE, NOTHING.0, NOTHING.1, three.nothing.result());
}

async fn examine_case(
    ctx: &Ctx<'_>,
    file: &CaseFile,
    case: &ProbeCase,
    three: &mut Three,
) -> Result<(), String> {
    let mut passed = Vec::new();
    let datagrams = case.servers.iter().any(|server| server.protocol == Protocol::Udp);
    for (told, harm) in HARM {
        let servers: Vec<ServerScript> = case.servers.iter().map(|server| harm.of(server)).collect();
        let mut staged = stage(ctx, file, case, &servers, |_| {}).await?;
        staged.request.timeout = staged.request.timeout.min(TIME);
        let asked = probe(&staged).await;
        let name = format!("{told} in case {:?}", case.name);
        three.answers.add(&name, answers::no_outcome(&asked.result).map(|fault| fault.on(name.clone())));
        let cut = was_cut(&asked, staged.request.timeout);
        three
            .deadline
            .add(&name, cut.then(|| Finding::new(name.clone(), outcome_told(&asked.result), REMAINING)));
        // Those that answer nothing, and of which a datagram learns no more than of silence.
        passed.push((told, harm, passes(&asked.result), outcome_told(&asked.result)));
    }
    let name = format!("case {:?}", case.name);
    let seen = from_nothing(&passed, datagrams);
    three.nothing.add(&name, seen.map(|seen| Finding::new(name.clone(), seen, SUCCESS)));
    Ok(())
}

/// A probe that the machine had no time for is done again.
async fn probe(staged: &Staged) -> Asked<ProbeOutcome> {
    let mut asked = patiently(async || staged.prober.check_and_probe(&staged.request).await).await;
    for _ in 1..TRIES {
        if !was_cut(&asked, staged.request.timeout) {
            break;
        }
        asked = staged.prober.probe(&staged.request).await;
    }
    asked
}

/// Whether it was the host who ended it: these are its words.
fn was_cut(asked: &Asked<ProbeOutcome>, timeout: Duration) -> bool {
    let words = match timeout.subsec_millis() {
        0 => format!("no answer within {}s", timeout.as_secs()),
        _ => format!("no answer within {}ms", timeout.as_millis()),
    };
    matches!(&asked.result, Ok(ProbeOutcome::Failure(detail)) if *detail == words)
}

/// Which success came from nothing. That nobody listens is nothing in any case. That somebody listens and says nothing is
/// enough for a probe that only connects, but not for one that fails when the server closes or says the wrong thing.
fn from_nothing(passed: &[(&str, Harm, bool, String)], datagrams: bool) -> Option<String> {
    let passes = |harm: Harm| passed.iter().any(|(_, other, passes, _)| *other == harm && *passes);
    let listens = passes(Harm::Close) && passes(Harm::Garbage);
    let nothing = |harm: Harm| match harm {
        Harm::Refuse => true,
        Harm::Silent => !listens,
        Harm::Reset | Harm::Close => datagrams,
        Harm::Garbage | Harm::Endless | Harm::Drip => false,
    };
    let found = passed.iter().find(|(_, harm, passes, _)| *passes && nothing(*harm));
    found.map(|(told, _, _, outcome)| format!("with {told}: {outcome}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(harms: &[Harm]) -> Vec<(&'static str, Harm, bool, String)> {
        HARM.iter().map(|(told, harm)| (*told, *harm, harms.contains(harm), "success: ".to_owned())).collect()
    }

    #[test]
    fn success_from_nothing_is_told_and_success_of_a_connection_is_not() {
        use Harm::{Close, Drip, Endless, Garbage, Refuse, Reset, Silent};
        let cases: [(&[Harm], Option<&str>); 7] = [
            (&[], None),
            (&[Refuse], Some("a server that refuses")),
            // Connects, and that is all.
            (&[Reset, Close, Silent, Garbage, Endless, Drip], None),
            (&[Silent], Some("a server that says nothing")),
            (&[Silent, Close], Some("a server that says nothing")),
            (&[Garbage, Endless], None),
            (&[Drip], None),
        ];
        for (harms, expected) in cases {
            let seen = from_nothing(&passed(harms), false);
            match expected {
                None => assert_eq!(seen, None, "{harms:?}"),
                Some(words) => {
                    assert!(seen.as_ref().is_some_and(|seen| seen.contains(words)), "{harms:?}: {seen:?}")
                }
            }
        }
    }

    #[test]
    fn the_hosts_words_tell_that_a_probe_was_cut() {
        let failed = |detail: &str| Asked::unmeasured(Ok(ProbeOutcome::Failure(detail.to_owned())));
        assert!(was_cut(&failed("no answer within 600ms"), TIME));
        assert!(was_cut(&failed("no answer within 1s"), Duration::from_secs(1)));
        assert!(!was_cut(&failed("read tcp 127.0.0.1:1: i/o timeout"), TIME));
    }
}
