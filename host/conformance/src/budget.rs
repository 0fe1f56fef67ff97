//! The layer `budget`: time and memory. Figures are for people; what fails is only what no machine can be the reason of.

pub(crate) mod trend;

use std::time::Duration;

use tokio::time::Instant;
use witlet_wasm::direct::CallReport;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use self::trend::{CALLS_MIN, growth, quantile};
use crate::check::{CheckResult, Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::environment::servers::Behaviour;
use crate::plugin_response::{PluginResponse, in_words};
use crate::scenario::{Stage, good, plain, with_servers};

/// Finds `slow-to-start`, `slow-to-answer`.
const TIME: Named = ("budget/time", "a fresh instance answers in time");
/// Finds `leaks-per-call` in each role.
const LEAK: Named = ("budget/leak", "an instance keeps no more memory with each call");
/// Finds `floods-the-log`.
const LOG: Named = ("budget/log", "a call writes no more lines than are kept");
/// Finds `busy-waits`.
const WAIT: Named = ("budget/busy-waiting", "a probe that waits doesn't compute");
/// Finds `cursor-grows`.
const CURSOR: Named = ("budget/cursor", "a cursor doesn't grow from poll to poll");
const TIMEOUT: &str =
    "a call has its timeout for instance and answer together; without an answer the failure policy decides";
const KEPT: &str = "an instance is kept for the next call: memory that it keeps of each call is missing from those to come, until it has none";
const LINES: &str = "log.write: the host bounds the number of lines per call; what exceeds the bounds is cut";
const WAITS: &str = "prober.probe: what has to wait for an answer waits in wasi:io/poll; a call that computes for half of its time is \
                     ended";
const BOUND: &str = "poll-result.cursor: at most 4 KiB; one that grows with each poll will be too long one day, and then each poll fails";

/// Calls of fresh instances that are timed.
const FRESH_CALLS: usize = 20;
/// Calls without one answer after which the next would bring none either. Each had its whole timeout of a processor's time.
const UNANSWERED_CALLS: usize = 5;
/// Calls of one instance, for what it keeps of each.
const WARM_CALLS: usize = 300;
/// How long calls of one instance are made: slow ones are fewer.
const WARM_TIME: Duration = Duration::from_secs(10);
/// How long they are made at most until there are enough of them to say something: a machine that others keep busy is slow.
const WARM_TIME_MAX: Duration = Duration::from_secs(120);
/// What is kept of each call, and isn't worth a word: a page in four hundred calls.
const GROWTH_MIN: f64 = 160.0;
/// What a cursor may grow by with each poll: the length of a number does.
const CURSOR_GROWTH_MAX: f64 = 0.5;
/// How many lines of one call the host keeps.
const LINES_MAX: usize = 64;
/// What a probe has for a server that says nothing.
const SILENCE: Duration = Duration::from_secs(1);
/// The part of it that a probe may compute while it waits: interpreters take some hundredths of a second.
const BUSY_MAX: f64 = 0.1;
/// The part of it in which it could have run: what computes while it waits gets little of a machine that others keep busy, and would go on
/// at any time all the same. What waits is woken now and then, and waits for a processor then.
const RUNNABLE_MAX: f64 = 0.75;
/// How often it is tried where one try doesn't tell.
const SILENCES: usize = 5;
/// In how many of them it computes if that is its way: once, the machine may have stood still within the call.
const BUSY_SILENCES: usize = 2;

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let needs = &ctx.inspection.needs;
    checks.figure("memory declared", "bytes", needs.memory_bytes as f64);
    checks.figure("table elements declared", "elements", needs.table_elements as f64);
    for role in ctx.roles() {
        if let Err(why) = calls(ctx, checks, role).await {
            let cursor = if role == Role::PodSource { &[CURSOR][..] } else { &[] };
            checks.skip_all(role, &[&[TIME, LEAK, LOG], cursor].concat(), &why);
        }
        if role == Role::Probe {
            let tried = busy(ctx, checks).await;
            checks.named(role, WAIT, tried);
        }
    }
}

/// The same call again and again, in fresh instances and in one.
async fn calls(ctx: &Ctx<'_>, checks: &mut Checks<'_>, role: Role) -> Result<(), String> {
    let scenario = match good(ctx, role).map(|mut all| all.swap_remove(0)) {
        Ok(scenario) => scenario,
        // Without a server it has an answer, too.
        Err(_) => plain(ctx, role)?,
    };
    let mut fresh = scenario.stage(ctx).await?;
    let mut used = scenario.warmed(ctx.plan.warm).stage(ctx).await?;
    let measured = Measured::of(role, &mut fresh, FRESH_CALLS).await;
    measured.tell(role, "fresh", checks);
    // One late answer is the machine's; only all of them are the plugin's.
    let all_late = measured.seconds.is_empty().then_some(measured.failed).flatten();
    let late = all_late.filter(|(_, error)| matches!(error, CallError::Timeout { .. })).map(|(_, error)| {
        let seen = format!("{}, in each of {UNANSWERED_CALLS} fresh instances", error.sentence());
        Finding::new(scenario.shown(), seen, TIMEOUT)
    });
    checks.named(role, TIME, late);
    let flood = (measured.lines >= LINES_MAX).then(|| {
        let seen = format!("{} lines in one call", measured.lines);
        Finding::new(scenario.shown(), seen, LINES)
    });
    let measured = Measured::of(role, &mut used, WARM_CALLS).await;
    measured.tell(role, "warm", checks);
    leak(role, &measured, checks);
    checks.named(role, LOG, flood);
    if role == Role::PodSource {
        let found = grown(&measured.cursors);
        checks.named(role, CURSOR, found.map(|seen| Finding::new(scenario.name.clone(), seen, BOUND)));
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Measured {
    /// From question to answer, in seconds.
    seconds: Vec<f64>,
    /// Of the instance, after each call.
    memory_bytes: Vec<f64>,
    /// The length of the cursor after each call.
    cursors: Vec<f64>,
    /// The most lines that a call wrote.
    lines: usize,
    /// The first call that brought no answer, and why.
    failed: Option<(usize, CallError)>,
}

impl Measured {
    /// Asks so often, one call after the other; a source with the cursor of the answer before.
    async fn of(role: Role, stage: &mut Stage, calls: usize) -> Self {
        let (mut measured, began) = (Self::default(), Instant::now());
        for call in 0..calls {
            let started = Instant::now();
            let asked = match role {
                // Without the question about its parameters.
                Role::Probe => stage.plugin.ask_here(&stage.question).await,
                Role::Admission | Role::PodSource => stage.ask().await,
            };
            measured.note(call, started.elapsed(), &asked);
            measured.lines = measured.lines.max(stage.plugin.lines().len());
            // One that is too long is no answer any more.
            let cursor = stage.cursor.as_ref().filter(|_| asked.result.is_ok());
            measured.cursors.extend(cursor.map(|cursor| cursor.len() as f64));
            let never_answers = measured.seconds.is_empty() && call + 1 >= UNANSWERED_CALLS;
            let enough = if call + 1 < CALLS_MIN { WARM_TIME_MAX } else { WARM_TIME };
            if began.elapsed() > enough || never_answers {
                break;
            }
        }
        measured
    }

    /// Notes the `call`th call (from 0), which took `took`. That the host had no turn for it says nothing.
    fn note(&mut self, call: usize, took: Duration, asked: &CallReport<PluginResponse>) {
        match &asked.result {
            Ok(_) => {
                self.seconds.push(took.as_secs_f64());
                self.memory_bytes.push(asked.memory_bytes_peak as f64);
            }
            Err(error) => _ = self.failed.get_or_insert_with(|| (call + 1, error.clone())),
        }
    }

    fn tell(&self, role: Role, how: &str, checks: &mut Checks<'_>) {
        for (name, rank) in [("p50", 0.5), ("p99", 0.99)] {
            checks.figure(format!("{role} {how} {name}"), "s", quantile(&self.seconds, rank));
        }
        checks.figure(format!("{role} {how} memory"), "bytes", quantile(&self.memory_bytes, 1.0));
    }
}

fn leak(role: Role, measured: &Measured, checks: &mut Checks<'_>) {
    let numbers = &measured.memory_bytes;
    let count = numbers.len();
    let first = numbers.first().copied().unwrap_or_default();
    let last = numbers.last().copied().unwrap_or_default();
    if count > 0 {
        checks.figure(format!("{role} memory after 1 call"), "bytes", first);
        checks.figure(format!("{role} memory after {count} calls"), "bytes", last);
    }
    let slope = growth(numbers).filter(|slope| *slope >= GROWTH_MIN);
    checks.figure(format!("{role} growth"), "bytes/call", slope.unwrap_or(0.0));
    let result: CheckResult = match (slope, &measured.failed) {
        (Some(slope), _) => {
            let input = format!("the same call, {count} times to one instance");
            let seen = format!(
                "{slope:.0} bytes more with each call: {first:.0} after the first one, {last:.0} after the last one"
            );
            Some(Finding::new(input, seen, KEPT)).into()
        }
        (None, _) if count >= CALLS_MIN => CheckResult::Passed,
        (None, Some((call, error))) => {
            Tried::Err(format!("call {call} had no answer: {}", error.sentence())).into()
        }
        (None, None) => {
            Tried::Err(format!("{count} calls in {}s say nothing", WARM_TIME_MAX.as_secs())).into()
        }
    };
    checks.named(role, LEAK, result);
}

fn grown(cursors: &[f64]) -> Option<String> {
    let slope = growth(cursors).filter(|slope| *slope > CURSOR_GROWTH_MAX)?;
    let (first, last) = (cursors.first()?, cursors.last()?);
    Some(format!(
        "{slope:.1} bytes more with each of {} polls: {first} at first, {last} at last",
        cursors.len()
    ))
}

/// Whether a call that used `part` of its time, and could have used `runnable` of it, computes where it should wait.
fn is_busy(part: f64, runnable: f64) -> bool {
    part >= BUSY_MAX || runnable >= RUNNABLE_MAX
}

/// Whether a probe computes while a server says nothing.
async fn busy(ctx: &Ctx<'_>, checks: &mut Checks<'_>) -> Tried {
    let scenario = with_servers(ctx, Role::Probe)?.swap_remove(0);
    let silent = scenario.with(|scenario| {
        scenario.servers.iter_mut().for_each(|server| server.behaviour = Behaviour::Silent);
        scenario.question.give(SILENCE);
    });
    let mut stage = silent.stage(ctx).await?;
    let (mut most, mut busy, mut found) = (0.0_f64, 0, None);
    for _ in 0..SILENCES {
        let asked = stage.ask().await;
        let of_time = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() / SILENCE.as_secs_f64();
        let (part, runnable) = (of_time(asked.cpu), of_time(asked.runnable));
        most = most.max(part);
        busy += usize::from(is_busy(part, runnable));
        if busy == BUSY_SILENCES {
            let input = format!("a server that says nothing in {}", scenario.name);
            let (answer, part, runnable) = (in_words(&asked.result), part * 100.0, runnable * 100.0);
            let seen = format!(
                "it computed for {part:.0}% of its time, and could have for {runnable:.0}%: {answer}"
            );
            found = Some(Finding::new(input, seen, WAITS));
            break;
        }
        // One that waits hardly computes at all, and needn't be checked again.
        if part < BUSY_MAX / 4.0 && runnable < RUNNABLE_MAX / 4.0 {
            break;
        }
    }
    checks.figure("probe CPU while a server says nothing", "s", most * SILENCE.as_secs_f64());
    Ok(found)
}

#[cfg(test)]
mod tests;
