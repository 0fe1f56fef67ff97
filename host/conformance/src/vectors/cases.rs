//! Carries cases out and says what is different from what they expect.

use serde_json::Value;
use witlet_core::error::one_line;
use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use crate::cases::{
    AdmissionCase, AdmissionExpect, CaseFile, Cases, ProbeCase, ProbeExpect, SourceCase, SourceExpect,
    SourceStep, ValidateExpect,
};
use crate::check::cut;
use crate::run::{self, Probed, RunError, StepAnswer, Stepped, matching};
use crate::{CheckResult, Checks, Ctx, Finding, Setup};

/// Id of a case of the author's.
const CASE: &str = "vectors/case";
/// Ids of what every plugin must answer, by role.
const EVERY_HANDLER: &str = "vectors/every-pod";
pub(super) const EVERY_PROBER: &str = "vectors/every-target";
pub(super) const EVERY_SOURCE: &str = "vectors/every-folder";

/// Who says what must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose<'a> {
    /// The author, in this file.
    Author(&'a str),
    /// The contract.
    Every,
}

impl Whose<'_> {
    fn id(self, role: Role) -> &'static str {
        match (self, role) {
            (Self::Author(_), _) => CASE,
            (Self::Every, Role::Admission) => EVERY_HANDLER,
            (Self::Every, Role::Probe) => EVERY_PROBER,
            (Self::Every, Role::PodSource) => EVERY_SOURCE,
        }
    }

    fn finding(self, case: &str, seen: String, says: &str) -> Finding {
        match self {
            Self::Author(file) => {
                let says = format!("the case says: {says}");
                Finding::new(format!("case {case:?} of {file}"), seen, says).repeated_by("--only vectors")
            }
            Self::Every => {
                Finding::new(format!("the kit's vector {case:?}"), seen, says).repeated_by("--only vectors")
            }
        }
    }
}

/// Carries out all cases of a file.
pub(super) async fn carry_out(ctx: &Ctx<'_>, checks: &mut Checks<'_>, file: &CaseFile) {
    let whose = Whose::Author(&file.name);
    let setup = |config: &Option<Value>| ctx.setup_of(file, config.as_ref());
    // Of each file alike, so that the first case that is asked tells it.
    if let Err(error) = setup(&None) {
        let finding = Finding::new(
            file.name.as_str(),
            error.to_string(),
            "limits and grants of a case file are as in a PluginConfiguration",
        );
        checks.judge(file.role(), CASE, "its limits and grants can be taken", Some(finding));
        return;
    }
    match &file.cases {
        Cases::Admission(cases) => {
            for case in cases {
                if let Ok(setup) = setup(&case.config) {
                    admission(ctx, checks, &setup, case, whose).await;
                }
            }
        }
        Cases::Probe(cases) => {
            for case in cases {
                if let Ok(setup) = setup(&case.config) {
                    probe(ctx, checks, &setup, case, whose).await;
                }
            }
        }
        Cases::PodSource(cases) => {
            for case in cases {
                if let Ok(setup) = setup(&case.config) {
                    source(ctx, checks, &setup, case, whose).await;
                }
            }
        }
    }
}

/// Carries one case out.
pub(super) async fn admission(
    ctx: &Ctx<'_>,
    checks: &mut Checks<'_>,
    setup: &Setup,
    case: &AdmissionCase,
    whose: Whose<'_>,
) {
    let role = Role::Admission;
    let (seen, says) = match &case.expect {
        AdmissionExpect::Validate(expected) => {
            let loaded = ctx.handler(setup).await.map(drop);
            (validated(expected, &loaded), format!("{}, handler.validate", wanted(expected)))
        }
        AdmissionExpect::Error(words) => match run::admission(ctx, setup, case).await {
            Ok(admitted) => {
                let result = &admitted.asked.result;
                let told = || run::verdict_told(result);
                (
                    matching::error(words, result, told),
                    format!("an error that contains {words:?}, handler.admit"),
                )
            }
            Err(error) => return not_run(checks, role, case.name.as_str(), whose, &error),
        },
        AdmissionExpect::Verdict { verdict, logs } => match run::admission(ctx, setup, case).await {
            Ok(admitted) => {
                let differs = matching::verdict(verdict, &admitted.asked.result);
                let differs = differs.or_else(|| matching::logs(logs, &admitted.lines));
                (with_log(differs, &admitted.lines), format!("{}, handler.admit", said::verdict(verdict)))
            }
            Err(error) => return not_run(checks, role, case.name.as_str(), whose, &error),
        },
    };
    let finding = seen.map(|seen| whose.finding(&case.name, seen, &says));
    checks.judge(role, whose.id(role), case.name.as_str(), finding);
}

/// Carries one case out.
pub(super) async fn probe(
    ctx: &Ctx<'_>,
    checks: &mut Checks<'_>,
    setup: &Setup,
    case: &ProbeCase,
    whose: Whose<'_>,
) {
    let role = Role::Probe;
    let run = match &case.expect {
        ProbeExpect::Validate(expected) => {
            let loaded = ctx.prober(&setup.at(crate::scene::address())).await.map(drop);
            let says = format!("{}, prober.validate", wanted(expected));
            let finding = validated(expected, &loaded).map(|seen| whose.finding(&case.name, seen, &says));
            checks.judge(role, whose.id(role), case.name.as_str(), finding);
            return;
        }
        ProbeExpect::Parameters(_) | ProbeExpect::Error(_) | ProbeExpect::Outcome { .. } => {
            run::probe(ctx, setup, case).await
        }
    };
    let probed = match run {
        Ok(probed) => probed,
        Err(error) => return not_run(checks, role, case.name.as_str(), whose, &error),
    };
    let (seen, says) = judged(case, &probed);
    let seen = seen.map(|seen| format!("{seen}{}", around(&probed)));
    let finding = with_log(seen, &probed.lines).map(|seen| whose.finding(&case.name, seen, &says));
    checks.judge(role, whose.id(role), case.name.as_str(), finding);
}

/// What is different from what a probe's case expects, and what that is.
fn judged(case: &ProbeCase, probed: &Probed) -> (Option<String>, String) {
    let result = &probed.asked.result;
    match &case.expect {
        ProbeExpect::Validate(expected) => (None, wanted(expected)),
        ProbeExpect::Parameters(expected) => {
            let says = format!("{}, prober.check-parameters", wanted(expected));
            let got = match (probed.refused_parameters, result) {
                (false, _) => Ok(()),
                (true, Err(CallError::Refused { words })) => Err(words.as_str()),
                (true, other) => return (Some(run::outcome_told(other)), says),
            };
            (matching::validate("the parameters", expected, got), says)
        }
        ProbeExpect::Error(words) => {
            let says = format!("an error that contains {words:?}, prober.probe");
            if probed.refused_parameters {
                return (Some(format!("the parameters are refused: {}", run::outcome_told(result))), says);
            }
            (matching::error(words, result, || run::outcome_told(result)), says)
        }
        ProbeExpect::Outcome { outcome, detail, logs } => {
            let says = format!("{}, prober.probe", said::outcome(*outcome, detail));
            let differs = matching::outcome(*outcome, detail, result);
            (differs.or_else(|| matching::logs(logs, &probed.lines)), says)
        }
    }
}

/// What servers heard and which commands ran, for who looks for a fault.
fn around(probed: &Probed) -> String {
    let heard = probed.heard.iter().map(|(port, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        format!("\nthe server on port {port} heard {:?}", cut(text.into_owned()))
    });
    let ran = probed.commands.iter().map(|command| format!("\nit ran {command:?}"));
    heard.chain(ran).collect()
}

/// Carries one case out: the first step that comes to something else is the finding.
pub(super) async fn source(
    ctx: &Ctx<'_>,
    checks: &mut Checks<'_>,
    setup: &Setup,
    case: &SourceCase,
    whose: Whose<'_>,
) {
    let role = Role::PodSource;
    if let Some(expected) = &case.validate {
        let loaded = ctx.source(&setup.at(crate::scene::address())).await.map(drop);
        let says = format!("{}, source.validate", wanted(expected));
        let finding = validated(expected, &loaded).map(|seen| whose.finding(&case.name, seen, &says));
        checks.judge(role, whose.id(role), case.name.as_str(), finding);
        return;
    }
    let stepped = match run::source(ctx, setup, case).await {
        Ok(stepped) => stepped,
        Err(error) => return not_run(checks, role, case.name.as_str(), whose, &error),
    };
    let steps = case.steps.iter().zip(&stepped).enumerate();
    let first = steps
        .filter_map(|(index, (step, stepped))| Some((index, step, stepped, differs(step, stepped)?)))
        .next();
    let finding = first.map(|(index, step, stepped, seen)| {
        let seen = with_log(Some(format!("step {}: {seen}", index + 1)), &stepped.lines).unwrap_or_default();
        whose.finding(&case.name, seen, &said::step(&step.expect))
    });
    checks.judge(role, whose.id(role), case.name.as_str(), finding);
}

/// What is different from what a step expects.
fn differs(step: &SourceStep, stepped: &Stepped) -> Option<String> {
    let (differs, logs) = match (&step.expect, &stepped.answer) {
        (SourceExpect::Feedback { answer, message, logs }, StepAnswer::Told(told)) => {
            (matching::feedback(answer, message, &told.result), logs)
        }
        (
            SourceExpect::Snapshot { snapshot, cursor, next_poll_milliseconds, logs },
            StepAnswer::Polled(polled),
        ) => {
            let next = *next_poll_milliseconds;
            (matching::snapshot(snapshot, cursor.as_deref(), next, &polled.result), logs)
        }
        (
            SourceExpect::Error { reason, message, retry_after_milliseconds, logs },
            StepAnswer::Polled(polled),
        ) => (matching::fault(reason.as_deref(), message, *retry_after_milliseconds, &polled.result), logs),
        // Case files are read so that these never meet.
        (SourceExpect::Feedback { .. }, StepAnswer::Polled(_))
        | (SourceExpect::Snapshot { .. } | SourceExpect::Error { .. }, StepAnswer::Told(_)) => return None,
    };
    differs.or_else(|| matching::logs(logs, &stepped.lines))
}

fn with_log(seen: Option<String>, lines: &[witlet_wasm::direct::HeardLine]) -> Option<String> {
    let seen = seen?;
    if lines.is_empty() || seen.contains("in the log;") {
        return Some(seen);
    }
    Some(format!("{seen}\nit logged\n{}", run::lines_told(lines)))
}

/// What is different from what is expected of `validate`.
fn validated(expected: &ValidateExpect, loaded: &Result<(), LoadError>) -> Option<String> {
    let got = match loaded {
        Ok(()) => Ok(()),
        Err(LoadError::Configuration { words }) => Err(words.as_str()),
        Err(other) => return Some(one_line(other)),
    };
    matching::validate("the configuration", expected, got)
}

fn wanted(expected: &ValidateExpect) -> String {
    match expected {
        ValidateExpect::Ok => "it is taken".to_owned(),
        ValidateExpect::Refuses(words) => format!("it is refused with an error that contains {words:?}"),
    }
}

fn not_run(checks: &mut Checks<'_>, role: Role, case: &str, whose: Whose<'_>, error: &RunError) {
    checks.add(role, whose.id(role), case, of_case_that_was_not_run(case, whose, error));
}

/// A case that couldn't be carried out. By the plugin's fault it is a finding; where the machine can't set the scene, an author's
/// case is one too, for he counts on it, and one of the kit's own was skipped.
fn of_case_that_was_not_run(case: &str, whose: Whose<'_>, error: &RunError) -> CheckResult {
    let says = match (error, whose) {
        (RunError::Load(_), _) => "the plugin is loaded with the case's configuration, limits and grants",
        (RunError::Scene(_), Whose::Author(_)) => "the case's servers and folders can be had on this machine",
        (RunError::Scene(_), Whose::Every) => return CheckResult::Skipped { why: one_line(error) },
    };
    CheckResult::Failed(whose.finding(case, one_line(error), says))
}

mod said {
    //! What a case expects, in words.

    use crate::cases::{OutcomeWord, SnapshotExpect, SourceExpect, Text, ValidateExpect, VerdictExpect};

    fn text(text: &Text) -> String {
        let Text { exact, contains, json } = text;
        let parts = [
            exact.as_ref().map(|exact| format!(" {exact:?}")),
            contains.as_ref().map(|words| format!(" with {words:?} in it")),
            json.as_ref().map(|json| format!(" with the JSON {}", beginning(&json.to_string()))),
        ];
        parts.into_iter().flatten().collect()
    }

    /// How much of expected JSON is told: what differs is told anyway.
    const JSON_BYTES_TOLD_MAX: usize = 200;

    fn beginning(text: &str) -> String {
        if text.len() <= JSON_BYTES_TOLD_MAX {
            return text.to_owned();
        }
        format!("{}…", &text[..text.floor_char_boundary(JSON_BYTES_TOLD_MAX)])
    }

    pub(super) fn verdict(verdict: &VerdictExpect) -> String {
        let reason =
            |reason: &Option<String>| reason.as_ref().map(|word| format!(" {word}")).unwrap_or_default();
        match verdict {
            VerdictExpect::WellFormed => {
                "a verdict that the contract has, or an error in its own words".to_owned()
            }
            VerdictExpect::Admit => "admit".to_owned(),
            VerdictExpect::Reject { reason: word, message } => {
                format!("reject{}{}", reason(word), text(message))
            }
            VerdictExpect::Defer { reason: word, message, retry_after_milliseconds } => {
                let after =
                    retry_after_milliseconds.map(|time| format!(" after {time}ms")).unwrap_or_default();
                format!("defer{}{}{after}", reason(word), text(message))
            }
            VerdictExpect::Shortage { resources } => match resources {
                None => "shortage".to_owned(),
                Some(resources) => {
                    let names: Vec<String> =
                        resources.iter().map(|resource| format!("{resource:?}")).collect();
                    format!("shortage of {}", names.join(", "))
                }
            },
        }
    }

    pub(super) fn outcome(outcome: OutcomeWord, detail: &Text) -> String {
        let word = match outcome {
            OutcomeWord::WellFormed => "an outcome, or an error in its own words",
            OutcomeWord::Success => "success",
            OutcomeWord::Warning => "warning",
            OutcomeWord::Failure => "failure",
        };
        format!("{word}{}", text(detail))
    }

    pub(super) fn step(expect: &SourceExpect) -> String {
        match expect {
            SourceExpect::Error { reason, message, .. } => {
                format!("the error {}{}, source.poll", reason.as_deref().unwrap_or_default(), text(message))
            }
            SourceExpect::Snapshot { snapshot, .. } => {
                let word = match snapshot {
                    SnapshotExpect::WellFormed => {
                        "a snapshot of whole pods, or an error with a reason".to_owned()
                    }
                    SnapshotExpect::Unchanged => "unchanged".to_owned(),
                    SnapshotExpect::Empty => "empty".to_owned(),
                    SnapshotExpect::Pods(None) => "pods".to_owned(),
                    SnapshotExpect::Pods(Some(pods)) => format!("{} pods", pods.len()),
                };
                format!("{word}, source.poll")
            }
            SourceExpect::Feedback { answer, .. } => match answer {
                ValidateExpect::Ok => "it takes what it is told, feedback.statuses".to_owned(),
                ValidateExpect::Refuses(words) => {
                    format!("an error that contains {words:?}, feedback.statuses")
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_case_without_its_scene_fails_its_author_and_nobody_else() {
        let error = RunError::Scene(io::Error::from(io::ErrorKind::AddrInUse));
        let of = |whose| of_case_that_was_not_run("a port that is taken", whose, &error);
        assert!(
            matches!(of(Whose::Author("cases.yaml")), CheckResult::Failed(finding) if finding.seen.contains("in use"))
        );
        assert!(matches!(of(Whose::Every), CheckResult::Skipped { .. }));
        let error = RunError::Load(LoadError::Interrupted);
        assert!(matches!(of_case_that_was_not_run("any", Whose::Every, &error), CheckResult::Failed(_)));
    }
}
