//! What a handler takes.

use tokio::time::Instant;
use witlet_core::admission::AdmissionRequest;
use witlet_wasm::direct::Question;
use witlet_wasm::role::Role;

use super::{FRESH_CALLS, Measured, REPEAT, WARM_CALLS, WARM_TIME, leak};
use crate::ctx::Handler;
use crate::properties::questions::{groups, shown};
use crate::{Checks, Ctx, Finding, Setup};

const ROLE: Role = Role::Admission;
const TIME: (&str, &str) = ("budget/time", "a fresh instance answers in time");
const LEAK_ID: &str = "budget/leak";
const LOG: (&str, &str) = ("budget/log", "a call writes no more lines than are kept");
const TIMEOUT: &str = "handler.admit has its timeout for instance and answer together; without an answer the failure policy decides";
const LINES: &str = "log.write: the host bounds the number of lines per call; what exceeds the bounds is cut";
/// How many lines of one call the host keeps.
const LINES_MAX: usize = 64;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let loaded = async {
        let mut groups = groups(ctx)?;
        let group = groups.swap_remove(0);
        let handler = load(ctx, &group.setup).await?;
        let warm = load(ctx, &group.setup.warmed(ctx.plan.warm)).await?;
        Ok::<_, String>((group, handler, warm))
    };
    let (group, handler, warm) = match loaded.await {
        Ok(loaded) => loaded,
        Err(why) => {
            for (id, title) in [TIME, (LEAK_ID, "an instance keeps no more memory with each call"), LOG] {
                checks.skip(ROLE, id, title, why.clone());
            }
            return;
        }
    };
    let requests: Vec<AdmissionRequest> = group.questions.iter().map(|named| named.request.clone()).collect();
    let fresh = measure(&handler, &requests, FRESH_CALLS).await;
    fresh.tell(ROLE, "fresh", checks);
    // One late answer is the machine's; only all of them are the plugin's.
    let all_late = fresh.seconds.is_empty()
        && fresh.failed.as_ref().is_some_and(|(_, why)| why.contains("no answer within"));
    let found = all_late.then(|| {
        let why = fresh.failed.as_ref().map(|(_, why)| why.clone()).unwrap_or_default();
        let input = shown(&group.questions[0].name, &requests[0]);
        Finding::new(input, format!("{why}, in each of {FRESH_CALLS} fresh instances"), TIMEOUT)
            .repeated_by(REPEAT)
    });
    checks.judge(ROLE, TIME.0, TIME.1, found);
    let used = measure(&warm, &requests, WARM_CALLS).await;
    used.tell(ROLE, "warm", checks);
    leak(ROLE, &used, checks, LEAK_ID);
    let found = lines(&handler, &requests).await;
    checks.judge(ROLE, LOG.0, LOG.1, found);
}

async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<Handler, String> {
    ctx.handler(setup).await.map_err(|error| error.sentence())
}

/// Asks so often, one question after the other.
async fn measure(handler: &Handler, requests: &[AdmissionRequest], calls: usize) -> Measured {
    let questions: Vec<Question> = requests.iter().map(|request| Question::new(request.clone())).collect();
    let (mut measured, began) = (Measured::default(), Instant::now());
    for (call, question) in (0..calls).zip(questions.iter().cycle()) {
        let started = Instant::now();
        let asked = handler.ask_again(question).await;
        measured.note(call, started.elapsed(), &asked);
        let never_answers = measured.seconds.is_empty() && call + 1 >= FRESH_CALLS;
        if began.elapsed() > WARM_TIME || never_answers {
            break;
        }
    }
    measured
}

/// A call whose lines fill all that is kept has written more, or would with the next one.
async fn lines(handler: &Handler, requests: &[AdmissionRequest]) -> Option<Finding> {
    handler.lines();
    for request in requests {
        // What it answers isn't the question.
        handler.ask(request).await;
        let lines = handler.lines();
        if lines.len() >= LINES_MAX {
            let seen = format!(
                "{} lines in one call, the last one: {}",
                lines.len(),
                lines[lines.len() - 1].message
            );
            return Some(Finding::new(shown("a call", request), seen, LINES).repeated_by(REPEAT));
        }
    }
    None
}
