//! `witlet plugin diff`: asks two versions of an admission handler what was recorded, and says where their verdicts differ.

mod recordings;
mod report;
mod side;

use std::sync::Arc;

use thiserror::Error;
use tokio::time::Instant;
use witlet_node::SystemClock;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::direct::{DirectHost, PreparedRequest};
use witlet_wasm::host::StartError;
use witlet_wasm::record::{RecordedRequest, RecordedResponse, read};

use crate::cli::{DiffArgs, OutputFormat};
use crate::output::{OutputError, print, structured};
use recordings::RecordingsError;
pub(crate) use report::{Comparison, Difference, SkippedRecording};
#[cfg(test)]
pub(crate) use report::{DifferenceKind, HandlerAnswer, SideFigures};
use side::{Side, SideError};

/// Why nothing can be compared.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The recorded calls can't be found.
    #[error(transparent)]
    Recordings(#[from] RecordingsError),
    /// One of the two can't be had, or doesn't load.
    #[error(transparent)]
    Side(#[from] SideError),
    /// There is no space for compiled code.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// The plugin host doesn't start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// None of the recorded calls can be put to both.
    #[error("none of {count} recorded calls can be compared; the first: {problem}")]
    Nothing {
        /// How many there are.
        count: usize,
        /// Why the first can't.
        problem: String,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Prints how they compare. Whether all answers are the same.
pub(crate) async fn run(args: &DiffArgs) -> Result<bool, Error> {
    let comparison = compare(args).await?;
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => comparison.for_people(),
        OutputFormat::Json | OutputFormat::Yaml => structured(&comparison, args.output)?,
    };
    print(&text)?;
    Ok(comparison.is_same())
}

/// Puts each recorded question to both, one after the other.
async fn compare(args: &DiffArgs) -> Result<Comparison, Error> {
    let recordings = recordings::find(&args.recordings)?;
    let scratch = tempfile::tempdir().map_err(Error::Scratch)?;
    let compiler = CompilerConfig::foreground(args.cache.or(scratch.path().join("code")));
    let host = DirectHost::start(compiler, Arc::new(SystemClock))?;
    let data = side::data(&args.data)?;
    let mut a = Side::read(&args.a, &data, &args.registry).await?;
    let mut b = Side::read(&args.b, &data, &args.registry).await?;
    let (mut differences, mut skipped, mut compared) = (Vec::new(), Vec::new(), 0);
    for path in &recordings {
        let recording = path.display().to_string();
        let mut skip = |problem: String| {
            skipped.push(SkippedRecording { recording: recording.clone(), problem });
        };
        let call = match read(path) {
            Ok(call) => call,
            Err(error) => {
                skip(witlet_core::error::one_line(&error));
                continue;
            }
        };
        let RecordedRequest::Admission(question) = &call.question else {
            skip(format!(
                "it is a question to a plugin in the role {}, not to an admission handler",
                call.question.role()
            ));
            continue;
        };
        if let Some(problem) = a.lacks(&call).or_else(|| b.lacks(&call)) {
            skip(problem);
            continue;
        }
        let request = question.request();
        let subject = report::subject(&request);
        let node = request.node.clone();
        let prepared = PreparedRequest::new(request);
        let (first, second) = (
            ask(&mut a, &host, &call, &node, &prepared).await?,
            ask(&mut b, &host, &call, &node, &prepared).await?,
        );
        compared += 1;
        differences.extend(Difference::between((recording.clone(), &call.plugin, subject), &first, &second));
    }
    if compared == 0 {
        let problem = skipped.into_iter().next().map(|skipped| skipped.problem).unwrap_or_default();
        return Err(Error::Nothing { count: recordings.len(), problem });
    }
    Ok(Comparison { a: a.figures(), b: b.figures(), requests: compared, differences, skipped })
}

/// Puts a question to one of them, loaded as the call says.
async fn ask(
    side: &mut Side,
    host: &DirectHost,
    call: &witlet_wasm::record::RecordedCall,
    node: &witlet_core::node::NodeFacts,
    request: &PreparedRequest,
) -> Result<RecordedResponse, SideError> {
    let plugin = side.loaded(host, call, node).await?;
    let started = Instant::now();
    let report = plugin.admit(request).await;
    side.note(started.elapsed(), &report);
    Ok(RecordedResponse::of_verdict(&report.result))
}
