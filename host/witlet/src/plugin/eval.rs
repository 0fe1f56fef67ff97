//! `witlet plugin eval`: asks admission handlers about manifests, as the daemon does, and prints what each says.

mod files;
pub(super) mod handlers;
pub(super) mod questions;
pub(crate) mod report;
pub(super) mod text;
mod watch;

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::Decision;
use witlet_core::admission::outcome::Outcome;
use witlet_core::error::one_line;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_node::SystemClock;
use witlet_ports::Clock;
use witlet_wasm::host::PluginHost;

use crate::cli::{EvalArgs, OutputFormat};
use crate::output::{OutputError, print, remark, structured};
use crate::run::signals;
use files::{Files, STANDARD_INPUT};
use handlers::{HandlersError, SingleHandler};
use questions::PodQuestion;
use report::{EVALUATION, EvalResult, PodReport, Report};
use watch::FileWatch;

/// Why nothing could be judged.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// Flags that don't go together, which clap can't see.
    #[error("{0}")]
    Usage(&'static str),
    /// There is no space for compiled plugins.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// No handler can be asked.
    #[error(transparent)]
    Handlers(#[from] HandlersError),
    /// The report can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Judges what the command line names, and prints the report; with `--watch` again and again.
pub(crate) async fn run(args: &EvalArgs) -> Result<EvalResult, Error> {
    if let Some(problem) = questions::usage_problem(args) {
        return Err(Error::Usage(problem));
    }
    let scratch = tempfile::tempdir().map_err(Error::Scratch)?;
    let mut files = Files::default();
    if !args.watch {
        return once(args, &mut files, scratch.path()).await;
    }
    if watch::has_standard_input(args) {
        // While signals end the command by themselves: one can't stop a read. What is wrong is said by the next read.
        let _ = files.read(Path::new(STANDARD_INPUT));
    }
    let stop = CancellationToken::new();
    signals::stopping(again_and_again(args, files, scratch.path(), stop.clone()), stop).await
}

/// Until the stop. What is wrong with the files, or with the machine, is printed, and the next change is waited for.
async fn again_and_again(
    args: &EvalArgs,
    mut files: Files,
    scratch: &Path,
    stop: CancellationToken,
) -> Result<EvalResult, Error> {
    let mut watch = FileWatch::new();
    let mut last = EvalResult::Invalid;
    loop {
        // Before they are read: a change in between is one.
        let count = watch.follow(watch::inputs(args));
        let judged = tokio::select! {
            biased;
            // What is printed counts.
            judged = once(args, &mut files, scratch) => judged,
            () = stop.cancelled() => return Ok(last),
        };
        last = match judged {
            Ok(result) => result,
            Err(error @ Error::Output(_)) => return Err(error),
            Err(error) => {
                remark(&format!("error: {}", one_line(&error)));
                EvalResult::Invalid
            }
        };
        remark(&format!("Waiting for changes of {count} file{}", if count == 1 { "" } else { "s" }));
        tokio::select! {
            () = stop.cancelled() => return Ok(last),
            () = watch.changed() => {}
        }
    }
}

/// Judges and prints.
async fn once(args: &EvalArgs, files: &mut Files, scratch: &Path) -> Result<EvalResult, Error> {
    let report = judge(args, files, scratch).await?;
    let output = match args.output {
        OutputFormat::Table | OutputFormat::Wide => {
            text::for_people(&report, args.output == OutputFormat::Wide)
        }
        OutputFormat::Json | OutputFormat::Yaml => structured(&report, args.output)?,
    };
    print(&output)?;
    Ok(report.result())
}

async fn judge(args: &EvalArgs, files: &mut Files, scratch: &Path) -> Result<Report, Error> {
    let mut report = Report::new(EVALUATION);
    let questions = questions::gather(args, files, SystemClock.now());
    report.skipped = questions.skipped;
    report.problems = questions.problems;
    let node = questions.node;
    let started = async {
        let single = SingleHandler::of(args, files).await?;
        let handlers = &args.handlers;
        let host = handlers::start(handlers, single.as_ref(), !args.standalone, node, scratch).await?;
        Ok::<_, HandlersError>((host, single.is_some()))
    };
    let (host, is_single) = match started.await {
        Ok(started) => started,
        Err(error) => {
            let problem = handlers::as_problem(error)?;
            report.problems.push(if args.expression.is_some() { of_expression(problem) } else { problem });
            return Ok(report);
        }
    };
    let mut problems = host.problems();
    if args.expression.is_some() {
        problems = problems.into_iter().map(of_expression).collect();
    }
    // Of a handler alone that doesn't load nothing is learnt.
    let is_pointless = is_single && !problems.is_empty();
    report.problems.extend(problems);
    report.skipped.extend(handlers::skipped(&host));
    handlers::warnings(&host).iter().for_each(|warning| remark(warning));
    if !is_pointless {
        for question in questions.asked {
            report.pods.push(ask(&host, question, args.all).await);
        }
    }
    Ok(report)
}

/// What is wrong with `--expression`, without the entry that was made for it.
fn of_expression(problem: String) -> String {
    match problem.split_once("validations[0].expression") {
        Some((_, fault)) => format!("--expression{fault}"),
        None => problem,
    }
}

/// Asks the handlers, unless it is decided already.
pub(super) async fn ask(host: &Arc<PluginHost>, question: PodQuestion, all: bool) -> PodReport {
    let PodQuestion { place, object, request, decided } = question;
    if let Some(outcome) = decided {
        return PodReport::new((place, object), &request, outcome, None, Vec::new());
    }
    let explanation = host.explain(request.clone(), all).await;
    let decision = explanation.decision.clone();
    let preempts = match &decision {
        Decision::Preempt { victims, .. } => {
            let others = request.other_pods.iter();
            let victims = others.filter(|other| victims.contains(&PodUid::of(&other.pod)));
            victims.map(|other| PodFullName::of(&other.pod).to_string()).collect()
        }
        Decision::Admit | Decision::Reject { .. } | Decision::Defer { .. } => Vec::new(),
    };
    let outcome = Outcome::of(&request.pod, request.operation, decision, request.now);
    PodReport::new((place, object), &request, outcome, Some(explanation), preempts)
}
