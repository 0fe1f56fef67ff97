//! What a pod source takes.

use tokio::time::Instant;
use witlet_wasm::role::Role;

use super::trend::growth;
use super::{FRESH_CALLS, Measured, REPEAT, WARM_CALLS, WARM_TIME, leak};
use crate::ctx::Source;
use crate::properties::world::{World, cursor};
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::PodSource;
const LEAK: (&str, &str) = ("budget/leak", "an instance keeps no more memory with each call");
const CURSOR: (&str, &str) = ("budget/cursor", "a cursor doesn't grow from poll to poll");
const BOUND: &str = "poll-result.cursor: at most 4 KiB; one that grows with each poll will be too long one day, and then each poll fails";
/// What a cursor may grow by with each poll: the length of a number does.
const GROWTH_MAX: f64 = 0.5;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let loaded = async {
        let world = World::find(ctx).await?;
        let fresh = world.source(ctx).await?;
        let used = world.source_as(ctx, &world.setup.warmed(ctx.plan.warm)).await?;
        Ok::<_, String>((world, fresh, used))
    };
    let (world, fresh, used) = match loaded.await {
        Ok(loaded) => loaded,
        Err(why) => {
            checks.skip(ROLE, LEAK.0, LEAK.1, why.clone());
            return checks.skip(ROLE, CURSOR.0, CURSOR.1, why);
        }
    };
    let (measured, _) = measure(&fresh, FRESH_CALLS).await;
    measured.tell(ROLE, "fresh", checks);
    let (measured, cursors) = measure(&used, WARM_CALLS).await;
    measured.tell(ROLE, "warm", checks);
    leak(ROLE, &measured, checks, LEAK.0);
    let found = grown(&cursors).map(|seen| Finding::new(world.name.clone(), seen, BOUND).repeated_by(REPEAT));
    checks.judge(ROLE, CURSOR.0, CURSOR.1, found);
}

/// Polls again and again. What calls took, and how long the cursors were.
async fn measure(source: &Source, calls: usize) -> (Measured, Vec<f64>) {
    let (mut measured, mut cursors, began) = (Measured::default(), Vec::new(), Instant::now());
    let mut last: Option<String> = None;
    for call in 0..calls {
        let started = Instant::now();
        let asked = source.poll(last.as_deref()).await;
        last = cursor(&asked.result).or(last);
        cursors.extend(last.as_ref().map(|cursor| cursor.len() as f64));
        measured.note(call, started.elapsed(), &asked);
        // A cursor that is too long is no answer any more.
        if measured.failed.is_some() {
            break;
        }
        if began.elapsed() > WARM_TIME {
            break;
        }
    }
    (measured, cursors)
}

fn grown(cursors: &[f64]) -> Option<String> {
    let slope = growth(cursors).filter(|slope| *slope > GROWTH_MAX)?;
    let (first, last) = (cursors.first()?, cursors.last()?);
    Some(format!(
        "{slope:.1} bytes more with each of {} polls: {first} at first, {last} at last",
        cursors.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_that_grows_is_told_and_one_that_counts_is_not() {
        let cursors = |length: fn(usize) -> f64| (0..200).map(length).collect::<Vec<_>>();
        let seen = grown(&cursors(|poll| 17.0 * (poll + 1) as f64)).expect("it grows");
        assert_eq!(seen, "17.0 bytes more with each of 200 polls: 17 at first, 3400 at last");
        assert_eq!(grown(&cursors(|poll| poll.to_string().len() as f64)), None);
        assert_eq!(grown(&cursors(|_| 16.0)), None);
        assert_eq!(grown(&[]), None);
    }
}
