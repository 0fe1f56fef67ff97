//! The layer `determinism`: the same question gets the same answer, whoever was asked before, in whichever instance, at
//! whatever time it is on the machine.

mod handler;
mod prober;
mod validate;

use witlet_wasm::role::Role;

use crate::{Checks, Ctx};

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles().collect::<Vec<_>>() {
        validate::examine(ctx, checks, role).await;
        match role {
            Role::Admission => handler::examine(ctx, checks).await,
            Role::Probe => prober::examine(ctx, checks).await,
            // What a source has is the world's business; `properties/unchanged-world` looks at one that stays the same.
            Role::PodSource => {}
        }
    }
}

/// What repeats a finding of this layer.
const REPEAT: &str = "--only determinism";

/// The first two answers that differ, with where each came from. What has no answer says nothing.
fn differing(answers: &[(String, Option<String>)]) -> Option<[&(String, Option<String>); 2]> {
    let mut told = answers.iter().filter(|(_, answer)| answer.is_some());
    let first = told.next()?;
    let other = told.find(|(_, answer)| *answer != first.1)?;
    Some([first, other])
}

/// Both, for people.
fn both([first, second]: [&(String, Option<String>); 2]) -> String {
    let told = |(place, answer): &(String, Option<String>)| {
        format!("{place}: {}", answer.as_deref().unwrap_or("no answer in time"))
    };
    format!("{}; {}", told(first), told(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(place: &str, answer: Option<&str>) -> (String, Option<String>) {
        (place.to_owned(), answer.map(str::to_owned))
    }

    #[test]
    fn answers_that_differ_are_told_with_their_places() {
        let answers =
            [answer("fresh", Some("admit")), answer("warm", Some("admit")), answer("third", Some("reject"))];
        assert_eq!(differing(&answers).map(both), Some("fresh: admit; third: reject".to_owned()));
        assert_eq!(differing(&answers[..2]), None);
        assert_eq!(differing(&[]), None);
    }

    #[test]
    fn no_answer_in_time_says_nothing() {
        let answers = [answer("fresh", None), answer("warm", Some("admit")), answer("third", None)];
        assert_eq!(differing(&answers), None);
    }
}
