//! The layer `hostile`: inputs, servers and folders that mean harm. Whatever comes, a plugin answers within its limits, and never
//! takes what it couldn't see for good news.

mod configs;
pub(crate) mod folders;
mod handler;
pub(crate) mod pods;
mod prober;
mod servers;
mod source;
pub(crate) mod stage;
pub(crate) mod texts;

use witlet_wasm::direct::Asked;
use witlet_wasm::role::Role;

use crate::patience::{self, TRIES};
use crate::{CheckResult, Checks, Ctx, Finding};

/// What repeats a finding of this layer.
const REPEAT: &str = "--only hostile";

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles().collect::<Vec<_>>() {
        configs::examine(ctx, checks, role).await;
        match role {
            Role::Admission => handler::examine(ctx, checks).await,
            Role::Probe => {
                prober::examine(ctx, checks).await;
                servers::examine(ctx, checks).await;
            }
            Role::PodSource => source::examine(ctx, checks).await,
        }
    }
}

/// Makes a call until it has an answer that says something about the plugin.
pub(crate) async fn patiently<T>(call: impl AsyncFn() -> Asked<T>) -> Asked<T> {
    patience::patiently(call, |asked| asked.result.as_ref().err()).await
}

/// What many inputs have found: the first finding, and which other inputs found something.
#[derive(Debug, Default)]
struct Found {
    first: Option<Finding>,
    others: Vec<String>,
    /// Why some couldn't be tried.
    untried: Vec<String>,
    tried: usize,
    /// How many had no answer in time.
    unanswered: usize,
}

/// After so many inputs without an answer in time the others aren't tried: each would take its whole time.
const UNANSWERED_MAX: usize = 3;
/// How many other inputs are named.
const OTHERS_MAX: usize = 12;

impl Found {
    /// What came of one input, called `name`.
    fn add(&mut self, name: &str, finding: Option<Finding>) {
        self.tried += 1;
        let is_late = |finding: &Finding| finding.seen.contains("no answer within");
        self.unanswered += usize::from(finding.as_ref().is_some_and(is_late));
        match (finding, &self.first) {
            (None, _) => {}
            (Some(finding), None) => self.first = Some(finding),
            (Some(_), Some(_)) => self.others.push(name.to_owned()),
        }
    }

    /// One that couldn't be tried.
    fn untried(&mut self, why: String) {
        self.untried.push(why);
    }

    /// Whether enough had no answer in time to say so.
    fn gives_up(&self) -> bool {
        self.unanswered >= UNANSWERED_MAX
    }

    /// Nothing was tried: that is no pass.
    fn result(self) -> CheckResult {
        let gave_up = self.gives_up();
        let Self { first, others, untried, tried, unanswered } = self;
        let Some(finding) = first else {
            return match untried.into_iter().next() {
                Some(why) => CheckResult::Skipped { why },
                None if tried == 0 => CheckResult::Skipped { why: "there was nothing to try".to_owned() },
                None => CheckResult::Passed,
            };
        };
        let mut finding = finding.repeated_by(REPEAT);
        if !others.is_empty() {
            let named: Vec<&str> = others.iter().take(OTHERS_MAX).map(String::as_str).collect();
            let more = others.len().saturating_sub(OTHERS_MAX);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            finding.seen = format!("{}. Not content with either: {}{more}", finding.seen, named.join(", "));
        }
        if gave_up {
            let rest = "further inputs weren't tried";
            finding.seen = format!("{}. After {unanswered} without an answer in time {rest}", finding.seen);
        }
        CheckResult::Failed(finding)
    }
}

/// Text in a finding that is shown as far as it says what it is.
fn short(text: &str) -> String {
    const SHOWN_MAX: usize = 200;
    let end = text.floor_char_boundary(SHOWN_MAX);
    if end < text.len() { format!("{}… ({} bytes)", &text[..end], text.len()) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use witlet_wasm::plugin::CallError;

    use super::*;

    #[test]
    fn the_first_finding_is_told_with_the_names_of_the_others() {
        let mut found = Found::default();
        found.add("a", None);
        assert_eq!(
            Found::default().result(),
            CheckResult::Skipped { why: "there was nothing to try".to_owned() }
        );
        found.add("b", Some(Finding::new("b", "it trapped", "contract")));
        found.add("c", Some(Finding::new("c", "it trapped", "contract")));
        let CheckResult::Failed(finding) = found.result() else { panic!("it has findings") };
        assert_eq!((finding.input.as_str(), finding.repeat.as_deref()), ("b", Some(REPEAT)));
        assert_eq!(finding.seen, "it trapped. Not content with either: c");
    }

    #[test]
    fn what_never_answers_is_not_asked_for_ever() {
        let mut found = Found::default();
        for name in ["a", "b", "c"] {
            assert!(!found.gives_up(), "{name}");
            found.add(name, Some(Finding::new(name, "no answer within 500ms", "contract")));
        }
        assert!(found.gives_up());
        let CheckResult::Failed(finding) = found.result() else { panic!("it has findings") };
        assert_eq!(
            finding.seen,
            "no answer within 500ms. Not content with either: b, c. After 3 without an answer in time further inputs weren't tried"
        );
    }

    #[test]
    fn what_could_not_be_tried_is_no_pass() {
        let mut found = Found::default();
        found.add("a", None);
        found.untried("no folder".to_owned());
        assert_eq!(found.result(), CheckResult::Skipped { why: "no folder".to_owned() });
    }

    #[tokio::test]
    async fn no_answer_in_time_is_asked_for_again_and_any_other_one_is_not() {
        let limit = Duration::from_millis(1);
        let asked = |result| Asked::unmeasured(result);
        let calls = Cell::new(0);
        let late = patiently(async || {
            calls.set(calls.get() + 1);
            asked(if calls.get() < 2 { Err(CallError::Timeout { limit }) } else { Ok(()) })
        });
        assert!(late.await.result.is_ok());
        calls.set(0);
        let never = patiently(async || {
            calls.set(calls.get() + 1);
            asked(Err::<(), _>(CallError::Timeout { limit }))
        });
        assert!(never.await.result.is_err());
        assert_eq!(calls.get(), TRIES);
        calls.set(0);
        let traps = patiently(async || {
            calls.set(calls.get() + 1);
            asked(Err::<(), _>(CallError::StackOverflow))
        });
        assert!(traps.await.result.is_err());
        assert_eq!(calls.get(), 1);
    }
}
