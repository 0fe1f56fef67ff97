//! The layer `replay`: calls that a node recorded are asked again.

use witlet_wasm::record::replay::{GivenData, Identity, ReplayError, Replayed, replay};
use witlet_wasm::record::{RecordedCall, RecordedResponse};

use crate::check::{CheckResult, Checks, Finding};
use crate::ctx::Ctx;

const ID: &str = "replay/call";
const CONTRACT: &str = "the answer of a call follows from what was asked: the same question, with the same configuration, gets the same \
                        answer";

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    if ctx.plan.records.is_empty() {
        let why = "there are no recorded calls: an entry's `record: {max: N}` makes some, and --record FILE names them";
        checks.add(
            None,
            ID,
            "recorded calls get the same answer",
            CheckResult::Skipped { why: why.to_owned() },
        );
    }
    for call in &ctx.plan.records {
        let role = call.question.role();
        let title = format!("the call of {} gets the answer that it got then", call.recorded_at);
        let result = if ctx.has(role) {
            let kit = ctx.engines;
            let wasm = ctx.subject.wasm.clone();
            let again =
                replay(call, wasm, GivenData::new(), Identity::Any, kit.compiler.clone(), kit.clock.clone())
                    .await;
            judge(call, again)
        } else {
            CheckResult::Skipped {
                why: format!("it was put to the role {role}, which this component doesn't have"),
            }
        };
        checks.add(role, ID, title, result);
    }
}

fn judge(call: &RecordedCall, again: Result<Replayed, ReplayError>) -> CheckResult {
    let input = format!("the call of {} to {}", call.recorded_at, call.plugin);
    match again {
        Ok(Replayed { same: true, .. }) => CheckResult::Passed,
        Ok(Replayed { answer, commands, .. }) => {
            let commands = commands.map(|commands| format!("; {commands}")).unwrap_or_default();
            let seen = format!("{} then, and now {}{commands}", in_words(&call.answer), in_words(&answer));
            CheckResult::Failed(Finding::new(input, seen, CONTRACT))
        }
        // What it was configured with then it must still take.
        Err(ReplayError::Load(error)) => CheckResult::Failed(Finding::new(input, error.sentence(), CONTRACT)),
        Err(
            error @ (ReplayError::Digest { .. }
            | ReplayError::Source
            | ReplayError::NotRecorded { .. }
            | ReplayError::NoData { .. }
            | ReplayError::OtherData { .. }
            | ReplayError::UnknownData { .. }
            | ReplayError::RecordedRequest(_)
            | ReplayError::Start(_)),
        ) => CheckResult::Skipped { why: error.to_string() },
    }
}

/// An answer as its file has it.
fn in_words(answer: &RecordedResponse) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}
