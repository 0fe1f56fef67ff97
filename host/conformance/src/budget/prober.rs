//! What a probe type takes.

use std::time::Duration;

use tokio::time::Instant;
use witlet_wasm::role::Role;

use super::{FRESH_CALLS, Measured, REPEAT, WARM_CALLS, WARM_TIME, leak};
use crate::ctx::Prober;
use crate::hostile::stage::{passing, stage};
use crate::properties::prober::target;
use crate::properties::questions::outcome_told;
use crate::scene::{Behaviour, ServerScript};
use crate::{Checks, Ctx, Finding};
use witlet_core::probe::ProbeRequest;

const ROLE: Role = Role::Probe;
const LEAK_ID: &str = "budget/leak";
const LEAK_TITLE: &str = "an instance keeps no more memory with each call";
const WAIT: (&str, &str) = ("budget/busy-waiting", "a probe that waits doesn't compute");
const WAITS: &str = "prober.probe: what has to wait for an answer waits in wasi:io/poll; a call that computes for half of its time is \
                     ended";
/// What the probe has for a server that says nothing.
const TIME: Duration = Duration::from_secs(1);
/// The part of it that a probe may compute while it waits: interpreters take some hundredths of a second.
const BUSY_MAX: f64 = 0.1;
/// The part of it in which it could have run: what computes while it waits gets little of a machine that others keep busy, and would go on at
/// any time all the same. What waits is woken now and then, and waits for a processor then.
const RUNNABLE_MAX: f64 = 0.75;
/// How often it is tried where one try doesn't tell.
const TRIES: usize = 5;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    match measured(ctx).await {
        Ok((fresh, used)) => {
            fresh.tell(ROLE, "fresh", checks);
            used.tell(ROLE, "warm", checks);
            leak(ROLE, &used, checks, LEAK_ID);
        }
        Err(why) => checks.skip(ROLE, LEAK_ID, LEAK_TITLE, why),
    }
    match busy(ctx).await {
        Ok((part, found)) => {
            checks.figure("probe CPU while a server says nothing", "s", part * TIME.as_secs_f64());
            checks.judge(ROLE, WAIT.0, WAIT.1, found);
        }
        Err(why) => checks.skip(ROLE, WAIT.0, WAIT.1, why),
    }
}

/// Fresh and warm: of a case in which it passes, else where nobody listens.
async fn measured(ctx: &Ctx<'_>) -> Result<(Measured, Measured), String> {
    let warm = Some(ctx.plan.warm);
    if let Some((file, case)) = passing(ctx).into_iter().next() {
        let fresh = stage(ctx, file, case, &case.servers, |_| {}).await?;
        let used = stage(ctx, file, case, &case.servers, |setup| setup.warm = warm).await?;
        return Ok((
            measure(&fresh.prober, &fresh.request, FRESH_CALLS).await,
            measure(&used.prober, &used.request, WARM_CALLS).await,
        ));
    }
    let setup = ctx.setup(ROLE).map_err(|error| error.to_string())?;
    let parameters = ctx.parameters().first().map_or_else(|| "null".to_owned(), ToString::to_string);
    let request = target(Default::default(), &parameters);
    let fresh = ctx.prober(&setup).await.map_err(|error| error.sentence())?;
    let used = ctx.prober(&setup.warmed(ctx.plan.warm)).await.map_err(|error| error.sentence())?;
    Ok((measure(&fresh, &request, FRESH_CALLS).await, measure(&used, &request, WARM_CALLS).await))
}

async fn measure(prober: &Prober, request: &ProbeRequest, calls: usize) -> Measured {
    let (mut measured, began) = (Measured::default(), Instant::now());
    for call in 0..calls {
        let started = Instant::now();
        let asked = prober.probe(request).await;
        measured.note(call, started.elapsed(), &asked);
        if began.elapsed() > WARM_TIME {
            break;
        }
    }
    measured
}

/// Whether a call that used `part` of its time, and could have used `runnable` of it, computes where it should wait.
fn is_busy(part: f64, runnable: f64) -> bool {
    part >= BUSY_MAX || runnable >= RUNNABLE_MAX
}

/// The part of its time that it computes while a server says nothing, at most, and what that means.
async fn busy(ctx: &Ctx<'_>) -> Result<(f64, Option<Finding>), String> {
    let case = passing(ctx).into_iter().find(|(_, case)| !case.servers.is_empty());
    let Some((file, case)) = case else {
        return Err("there is no case in which a probe passes by a server: add one with `servers` (--cases)"
            .to_owned());
    };
    let silent = |server: &ServerScript| ServerScript { behaviour: Behaviour::Silent, ..server.clone() };
    let servers: Vec<ServerScript> = case.servers.iter().map(silent).collect();
    let mut staged = stage(ctx, file, case, &servers, |_| {}).await?;
    staged.request.timeout = TIME;
    let mut most = 0.0_f64;
    for _ in 0..TRIES {
        let asked = staged.prober.probe(&staged.request).await;
        let of_time = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() / TIME.as_secs_f64();
        let (part, runnable) = (of_time(asked.cpu), of_time(asked.runnable));
        most = most.max(part);
        if is_busy(part, runnable) {
            let input = format!("a server that says nothing in case {:?}", case.name);
            let outcome = outcome_told(&asked.result);
            let (part, runnable) = (part * 100.0, runnable * 100.0);
            let seen = format!(
                "it computed for {part:.0}% of its time, and could have for {runnable:.0}%: {outcome}"
            );
            return Ok((most, Some(Finding::new(input, seen, WAITS).repeated_by(REPEAT))));
        }
        // One that waits hardly computes at all, and needn't be looked at again.
        if part < BUSY_MAX / 4.0 && runnable < RUNNABLE_MAX / 4.0 {
            break;
        }
    }
    Ok((most, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_run_all_the_time_is_busy_however_little_of_the_machine_it_gets() {
        for (part, runnable, expected) in [
            (0.0, 0.0, false),
            (0.03, 0.05, false),
            (0.02, 0.5, false),
            (0.5, 0.5, true),
            (1.0, 1.0, true),
            (0.05, 0.95, true),
        ] {
            assert_eq!(is_busy(part, runnable), expected, "{part} {runnable}");
        }
    }
}
