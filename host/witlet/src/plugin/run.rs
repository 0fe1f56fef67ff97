//! `witlet plugin run`: asks a component what cases and other requests ask, and shows all that comes of it.

mod requests;

use serde::Serialize;
use thiserror::Error;
use witlet_conformance::run::{CaseCall, CaseRun, RunError};
use witlet_conformance::{Kit, KitError, Subject};
use witlet_node::SystemClock;
use witlet_ports::Clock;
use witlet_wasm::compile::CompilerConfig;

use super::component::{self, ComponentError};
use super::entry::{self, EntryError};
use super::list::{bytes, fields, seconds};
use crate::cli::{OutputFormat, PluginRunArgs};
use crate::get::table;
use crate::output::{OutputError, print, structured};
use requests::RequestError;

/// Why nothing was asked.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is no component.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// A file is nothing that can be asked.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Cases, a configuration, limits or grants aren't taken.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is no space for compiled code.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// The plugin host doesn't start.
    #[error(transparent)]
    Kit(#[from] KitError),
    /// There is nothing to ask.
    #[error("{component}")]
    Run {
        /// As it was named.
        component: String,
        #[source]
        cause: RunError,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// What came of all cases.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) component: String,
    /// Whether all answers are as their cases expect.
    pub(crate) as_expected: bool,
    pub(crate) cases: Vec<CaseRun>,
}

/// Asks and prints. Whether all answers are as their cases expect.
pub(crate) async fn run(args: &PluginRunArgs) -> Result<bool, Error> {
    let component = component::read(&args.file, &args.registry).await?;
    let plan = match args.requests.as_slice() {
        [] => entry::plan(&args.file, &[], &args.entry)?,
        paths => {
            let cases = requests::case_files(paths, &args.file, SystemClock.now())?;
            entry::plan_with(cases, &args.entry)?
        }
    };
    let scratch = tempfile::tempdir().map_err(Error::Scratch)?;
    let kit = Kit::start(CompilerConfig::foreground(args.cache.or(scratch.path().join("code"))))?;
    let subject = Subject { name: component.name, wasm: component.wasm };
    let cases = kit.run_cases(&subject, &plan, &args.case).await;
    let cases = cases.map_err(|cause| Error::Run { component: args.file.clone(), cause })?;
    let report = Report::new(subject.name, cases);
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => for_people(&report),
        OutputFormat::Json | OutputFormat::Yaml => structured(&report, args.output)?,
    };
    print(&text)?;
    Ok(report.as_expected)
}

impl Report {
    pub(crate) fn new(component: String, cases: Vec<CaseRun>) -> Self {
        let as_expected = cases.iter().all(CaseRun::is_as_expected);
        Self { component, as_expected, cases }
    }
}

/// Each case with its calls, then how many differ.
fn for_people(report: &Report) -> String {
    let mut lines = Vec::new();
    for case in &report.cases {
        lines.push(format!("{}: {} ({})", case.file, case.case, case.role));
        for call in &case.calls {
            lines.extend(of_call(call));
        }
        let received = case.received.iter();
        lines.extend(
            received.map(|received| format!("  port {} received {:?}", received.port, received.text)),
        );
        lines.extend(case.problem.iter().map(|problem| format!("  error: {problem}")));
        lines.push(String::new());
    }
    let differ = report.cases.iter().filter(|case| !case.is_as_expected()).count();
    let count = report.cases.len();
    let cases = if count == 1 { "case" } else { "cases" };
    lines.push(match differ {
        0 => format!("{count} {cases}, as expected"),
        differ => format!("{count} {cases}, {differ} not as expected"),
    });
    // What plugins say must not reach the terminal as commands.
    lines.into_iter().map(|line| table::one_line(&line) + "\n").collect()
}

fn of_call(call: &CaseCall) -> Vec<String> {
    let cpu = call.cpu_seconds.map(|cpu| format!(", CPU {}", seconds(cpu))).unwrap_or_default();
    let memory = call.memory_bytes_peak.map(|peak| format!(", memory {}", bytes(peak as u64)));
    let took = seconds(call.took_seconds);
    let mut lines = vec![
        format!("  {}: {}", call.function, call.answer.words),
        format!("    took {took}{cpu}{}", memory.unwrap_or_default()),
    ];
    lines.extend(call.log.iter().map(|line| {
        let fields = fields(&line.fields);
        format!("    log {}: {}{fields}", line.level, line.message)
    }));
    lines.extend(call.commands.iter().map(|command| format!("    ran {command:?}")));
    lines.extend(call.differs.iter().map(|differs| format!("    NOT AS EXPECTED: {differs}")));
    lines
}

#[cfg(test)]
mod tests;
