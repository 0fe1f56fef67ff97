//! The layer `budget`: time and memory. Figures are for people; what fails is only what no machine can be the reason of.

mod handler;
mod prober;
mod source;
pub(crate) mod trend;

use std::time::Duration;

use witlet_wasm::direct::Asked;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use crate::{Checks, Ctx, Finding};
use trend::{growth, quantile};

/// What repeats a finding of this layer.
const REPEAT: &str = "--only budget";
/// Calls of fresh instances that are timed.
const FRESH_CALLS: usize = 20;
/// Calls of one instance, for what it keeps of each.
const WARM_CALLS: usize = 300;
/// How long calls of one instance are made at most: slow ones are fewer.
const WARM_TIME: Duration = Duration::from_secs(10);
/// What every role has of memory.
const LEAK: &str = "an instance is kept for the next call: memory that it keeps of each call is missing from those to come, until it has none";
/// What is kept of each call, and isn't worth a word: a page in four hundred calls.
const GROWTH_MIN: f64 = 160.0;

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let needs = &ctx.inspection.needs;
    checks.figure("memory declared", "bytes", needs.memory_bytes as f64);
    checks.figure("table elements declared", "elements", needs.table_elements as f64);
    for role in ctx.roles().collect::<Vec<_>>() {
        match role {
            Role::Admission => handler::examine(ctx, checks).await,
            Role::Probe => prober::examine(ctx, checks).await,
            Role::PodSource => source::examine(ctx, checks).await,
        }
    }
}

/// What calls took.
#[derive(Debug, Default)]
struct Measured {
    /// From question to answer, in seconds.
    seconds: Vec<f64>,
    /// Of the instance, after each call.
    memory_bytes: Vec<f64>,
    /// The first call that brought no answer, and why.
    failed: Option<(usize, String)>,
}

impl Measured {
    /// Notes the `call`th call (from 0), which took `took`. An error in the plugin's own words is an answer.
    fn note<T>(&mut self, call: usize, took: Duration, asked: &Asked<T>) {
        match &asked.result {
            Ok(_) | Err(CallError::Refused { .. }) => {
                self.seconds.push(took.as_secs_f64());
                self.memory_bytes.push(asked.memory_bytes_peak as f64);
            }
            // The host had no turn for it, which says nothing about the plugin.
            Err(CallError::Busy | CallError::Host) => {}
            Err(error) => _ = self.failed.get_or_insert_with(|| (call + 1, error.sentence())),
        }
    }

    fn tell(&self, role: Role, how: &str, checks: &mut Checks<'_>) {
        for (name, rank) in [("p50", 0.5), ("p99", 0.99)] {
            checks.figure(format!("{role} {how} {name}"), "s", quantile(&self.seconds, rank));
        }
        checks.figure(format!("{role} {how} memory"), "bytes", quantile(&self.memory_bytes, 1.0));
    }
}

/// Whether more memory is kept with each call.
fn leak(role: Role, measured: &Measured, checks: &mut Checks<'_>, id: &'static str) {
    const TITLE: &str = "an instance keeps no more memory with each call";
    let numbers = &measured.memory_bytes;
    let name = |what: &str| format!("{role} memory after {what}");
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
        checks.figure(name("1 call"), "bytes", *first);
        checks.figure(name(&format!("{} calls", numbers.len())), "bytes", *last);
    }
    let slope = growth(numbers).filter(|slope| *slope >= GROWTH_MIN);
    checks.figure(format!("{role} growth"), "bytes/call", slope.unwrap_or(0.0));
    let enough = numbers.len() >= trend::CALLS_MIN;
    match (slope, &measured.failed) {
        (Some(slope), _) => {
            let input = format!("the same call, {} times to one instance", numbers.len());
            let (first, last) = (numbers.first(), numbers.last());
            let seen = format!(
                "{slope:.0} bytes more with each call: {:.0} after the first one, {:.0} after the last one",
                first.copied().unwrap_or_default(),
                last.copied().unwrap_or_default()
            );
            checks.judge(role, id, TITLE, Some(Finding::new(input, seen, LEAK).repeated_by(REPEAT)));
        }
        (None, Some((call, why))) if !enough => {
            checks.skip(role, id, TITLE, format!("call {call} had no answer: {why}"))
        }
        (None, _) if !enough => {
            checks.skip(
                role,
                id,
                TITLE,
                format!("{} calls in {}s say nothing", numbers.len(), WARM_TIME.as_secs()),
            );
        }
        (None, _) => checks.judge(role, id, TITLE, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckResult, Silent};

    fn judged(memory: impl Fn(usize) -> f64, calls: usize) -> CheckResult {
        let mut checks = Checks::new(crate::Layer::Budget, &Silent);
        let memory_bytes = (0..calls).map(memory).collect();
        let measured = Measured { memory_bytes, ..Measured::default() };
        leak(Role::Admission, &measured, &mut checks, "budget/leak");
        checks.checks.remove(0).result
    }

    #[test]
    fn a_leak_is_found_and_steady_memory_is_not() {
        let CheckResult::Failed(finding) = judged(|call| 1_000_000.0 + 65_536.0 * call as f64, 200) else {
            panic!("it leaks")
        };
        assert!(finding.seen.starts_with("65536 bytes more with each call"), "{}", finding.seen);
        assert_eq!(judged(|_| 1_000_000.0, 200), CheckResult::Passed);
        assert!(matches!(judged(|_| 1_000_000.0, 5), CheckResult::Skipped { .. }));
    }
}
