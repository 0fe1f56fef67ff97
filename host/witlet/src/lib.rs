//! The witlet program: reads the command line, calls the part that does the work, and prints its error once.
#![forbid(unsafe_code)]

mod bounded;
mod check;
mod cli;
mod describe;
mod exec;
mod get;
mod inspect;
pub mod kubelet;
mod logging;
mod logs;
mod names;
mod output;
mod plugin;
mod progress;
mod run;
mod runtime;
#[cfg(test)]
mod schemas;
mod settings;
mod terminal;
mod top;

use std::error::Error;
use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use witlet_node::SystemClock;
use witlet_server::{ClientError, ExecError};

use crate::cli::{Cli, Command, LogArgs, Plugin, RunArgs};
use crate::exec::ExecCommandError;
use crate::get::error::GetError;
use crate::logging::Log;
use crate::logging::options::{LogOptions, VmoduleError};
use crate::plugin::eval::report::EvalResult;

/// Exit codes beyond 0 (done) and 1 (failed). `cli::EXIT_CODES` says the same to people.
mod exit {
    /// The command line can't be.
    pub(super) const USAGE: u8 = 2;
    /// No daemon answers.
    pub(super) const NO_DAEMON: u8 = 3;
    /// `check` found something, `plugin replay` or `plugin run` got another answer, `plugin eval` got invalid input, or
    /// `plugin upgrade` left files to the author.
    pub(super) const FINDINGS: u8 = 4;
    /// `plugin eval` or `plugin audit` has a pod that isn't admitted.
    pub(super) const NOT_ADMITTED: u8 = 5;
}

/// Takes a suggestion out of the error that names a command which `--help` doesn't show.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    let commands = Cli::command();
    let is_hidden = |name: &String| commands.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
    let suggested = error.get(ContextKind::SuggestedSubcommand);
    if matches!(suggested, Some(ContextValue::Strings(names)) if names.iter().any(is_hidden)) {
        error.remove(ContextKind::SuggestedSubcommand);
    }
    error
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let all: Vec<_> = std::env::args_os().collect();
    if let Some(arguments) = kubelet::arguments(&all, |word| Cli::command().find_subcommand(word).is_some()) {
        return run_kubelet(arguments);
    }
    // The compiler's child has limits that leave no space for a runtime with threads.
    match Cli::try_parse().unwrap_or_else(|error| without_hidden(error).exit()).command {
        Command::CompileComponent { arguments } => witlet_wasm::compile::child_main(arguments),
        Command::Run(args) => run_agent(*args),
        command => run_command(command),
    }
}

// Each has a frame of its own: what the work of all commands takes on the stack would be the agent's memory for as long as it runs.
#[inline(never)]
fn run_command(command: Command) -> ExitCode {
    on_threads(Box::pin(dispatch(command)))
}

/// Does the work on a runtime with threads.
fn on_threads(work: Pin<Box<dyn Future<Output = ExitCode> + '_>>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => return fail(&cause, 1),
    };
    let code = runtime.block_on(work);
    // A plugin may still hold a blocking thread; its limits end it, and the exit doesn't wait for it.
    runtime.shutdown_background();
    code
}

/// The kubelet's command line.
#[inline(never)]
fn run_kubelet(arguments: &[OsString]) -> ExitCode {
    match kubelet::read(arguments) {
        Ok(kubelet::Invocation::Text(text)) => done(output::print(&text)),
        Ok(kubelet::Invocation::Run(start)) => {
            witlet_node::heap::share_one_arena();
            let Log { filter, flushes } = logging::start(&start.log);
            tracing::info!(kubelet_version = kubelet::own_version(), "Kubelet version");
            for warning in &start.warnings {
                tracing::warn!(warning, "Configuration warning");
            }
            on_threads(Box::pin(flushes.during(async { done(run::run(start.settings, filter).await) })))
        }
        Err(error) => fail(&error, 1),
    }
}

/// Starts the log that a command's flags ask for.
fn start_log(args: &LogArgs) -> Result<Log, VmoduleError> {
    Ok(logging::start(&LogOptions::try_from(args)?))
}

/// The agent, of all commands the only one that stays for long.
#[inline(never)]
fn run_agent(args: RunArgs) -> ExitCode {
    witlet_node::heap::share_one_arena();
    let filter = match start_log(&args.log) {
        Ok(Log { filter, .. }) => filter,
        Err(error) => return fail(&error, exit::USAGE),
    };
    let settings = match settings::from_args::settings(args) {
        Ok(settings) => settings,
        Err(error) => return fail(&error, exit::USAGE),
    };
    // Before the first start has compiled what ships, which takes its time.
    tracing::info!(version = kubelet::own_version(), "Starting witlet");
    let flags = cli::given::flags_of_run(std::env::args_os());
    let settings = settings::Settings { flags, ..settings };
    on_threads(Box::pin(async { done(run::run(settings, filter).await) }))
}

async fn dispatch(command: Command) -> ExitCode {
    match command {
        Command::Runtime(args) => match start_log(&args.log) {
            Ok(_) => done(runtime::run(args).await),
            Err(error) => fail(&error, exit::USAGE),
        },
        Command::Get(what) => exit_code_of(get::run(what, &SystemClock).await),
        Command::Top(what) => exit_code_of(top::run(what, &SystemClock).await),
        Command::Describe(what) => exit_code_of(describe::run(what, &SystemClock).await),
        Command::Logs(args) => exit_code_of(logs::run(&args).await),
        Command::Exec(args) => match exec::run(&args).await {
            Ok(code) => code,
            Err(error) => fail(&error, code_of_exec(&error)),
        },
        Command::Plugin(Plugin::Bench(args)) => done(plugin::bench::run(&args).await),
        Command::Plugin(Plugin::Features { output }) => done(plugin::features::run(output)),
        Command::Plugin(Plugin::New(args)) => done(plugin::new::run(&args)),
        Command::Plugin(Plugin::Upgrade(args)) => found(plugin::upgrade::run(&args)),
        Command::Plugin(Plugin::List(args)) => exit_code_of(plugin::list::run(&args).await),
        Command::Plugin(Plugin::Inspect { file, registry, output }) => {
            done(inspect::run(&file, &registry, output).await)
        }
        Command::Plugin(Plugin::Manifest(args)) => done(plugin::manifest::run(&args)),
        Command::Plugin(Plugin::Push(args)) => done(plugin::push::run(&args).await),
        Command::Plugin(Plugin::Pull(args)) => done(plugin::pull::run(&args).await),
        Command::Plugin(Plugin::PushSet(args)) => done(plugin::push_set::run(&args).await),
        Command::Plugin(Plugin::Sign(args)) => done(plugin::sign::run(&args).await),
        Command::Plugin(Plugin::Run(args)) => found(plugin::run::run(&args).await),
        Command::Plugin(Plugin::Test(args)) => found(plugin::test::run(&args).await),
        Command::Plugin(Plugin::Serve(args)) => match start_log(&args.log) {
            Ok(_) => done(plugin::serve::run(&args).await),
            Err(error) => fail(&error, exit::USAGE),
        },
        Command::Plugin(Plugin::Eval(args)) => match plugin::eval::run(&args).await {
            Ok(result) => judged(result),
            Err(error @ plugin::eval::Error::Usage(_)) => fail(&error, exit::USAGE),
            Err(cause) => fail(&cause, 1),
        },
        Command::Plugin(Plugin::Audit(args)) => match plugin::audit::run(&args).await {
            Ok(result) => judged(result),
            Err(plugin::audit::Error::Client(cause)) => fail(&cause, code_of_client(&cause)),
            Err(cause) => fail(&cause, 1),
        },
        Command::Plugin(Plugin::Replay(args)) => found(plugin::replay::run(&args).await),
        Command::Plugin(Plugin::Diff(args)) => found(plugin::diff::run(&args).await),
        Command::Check(args) => match check::run(&args).await {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::from(exit::FINDINGS),
            Err(error @ (check::CheckError::Nothing | check::CheckError::Label(_))) => {
                fail(&error, exit::USAGE)
            }
            Err(cause) => fail(&cause, 1),
        },
        // Handled before the runtime starts.
        Command::Kubelet { .. } | Command::CompileComponent { .. } | Command::Run(_) => ExitCode::FAILURE,
    }
}

/// Whether all was as it should be.
fn found<E: Error>(result: Result<bool, E>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(exit::FINDINGS),
        Err(cause) => fail(&cause, 1),
    }
}

fn judged(result: EvalResult) -> ExitCode {
    match result {
        EvalResult::Admitted => ExitCode::SUCCESS,
        EvalResult::NotAdmitted => ExitCode::from(exit::NOT_ADMITTED),
        EvalResult::Invalid => ExitCode::from(exit::FINDINGS),
    }
}

/// Returns what was asked of the agent.
fn exit_code_of(result: Result<(), GetError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, code_of(&error)),
    }
}

fn code_of(error: &GetError) -> u8 {
    match error {
        GetError::Client(cause) => code_of_client(cause),
        GetError::Output(_) | GetError::Lookup(_) | GetError::Terminal(_) | GetError::NotFound { .. } => 1,
    }
}

fn code_of_exec(error: &ExecCommandError) -> u8 {
    match error {
        ExecCommandError::Target(error) => code_of(error),
        ExecCommandError::Exec(ExecError::Client(cause)) => code_of_client(cause),
        ExecCommandError::Exec(ExecError::Output(_) | ExecError::Streams(_))
        | ExecCommandError::NotRun { .. } => 1,
    }
}

/// An agent that refuses is there.
fn code_of_client(error: &ClientError) -> u8 {
    if matches!(error, ClientError::Refused { .. }) { 1 } else { exit::NO_DAEMON }
}

fn done<E: Error>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => fail(&cause, 1),
    }
}

/// Prints an error and its causes on one line each.
fn fail(error: &dyn Error, code: u8) -> ExitCode {
    use std::io::Write;
    let mut text = format!("error: {error}\n");
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(&format!("  caused by: {next}\n"));
        cause = next.source();
    }
    // With standard error gone, the exit code is all that is left.
    let _ = std::io::stderr().lock().write_all(get::table::lines(&text).as_bytes());
    ExitCode::from(code)
}
