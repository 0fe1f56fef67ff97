//! Runs a container's own program, and commands next to it, from start to end.

use std::sync::Arc;

use wasmtime_wasi::p2::bindings::CommandPre;
use witlet_wasm::limits::EpochTicker;

use super::exit::Exit;
use super::http;
use super::instance::{self, Input, Metered};
use super::program::{Entry, Program};
use super::spec::WorkloadSpec;
use super::state::State;
use super::stdio::{CapturedOutput, Logged, Sink};
use crate::log::Stream;

/// Runs `program` as a container's own until it ends. To kill it, drop the future: it gives way every few
/// milliseconds.
pub(crate) async fn run(program: Program, spec: WorkloadSpec) -> Exit {
    let Program { entry, ticker } = program;
    match entry {
        Entry::Command(command) => {
            let outputs = [Stream::Stdout, Stream::Stderr]
                .map(|stream| Arc::new(Logged::new(stream, spec.log.clone(), spec.now)));
            command_to_end(&command, &ticker, &spec, Input::UntilAsked, outputs).await
        }
        Entry::Handler { handler, .. } => http::serve(handler, ticker, spec).await,
    }
}

/// Runs a program's command next to the container's own, with the arguments of `spec`, until it ends. None if the
/// component has no command. What ended it other than itself is said on its standard error.
pub(crate) async fn exec(
    program: Program,
    spec: WorkloadSpec,
    outputs: [Arc<CapturedOutput>; 2],
) -> Option<Exit> {
    let Program { entry, ticker } = program;
    let command = match entry {
        Entry::Command(command) => Some(command),
        Entry::Handler { command, .. } => command,
    };
    let exit = command_to_end(&command?, &ticker, &spec, Input::Ended, outputs.clone()).await;
    outputs[1].take(exit.message.as_bytes());
    Some(exit)
}

async fn command_to_end<S: Sink>(
    command: &CommandPre<State>,
    ticker: &EpochTicker,
    spec: &WorkloadSpec,
    input: Input,
    outputs: [Arc<S>; 2],
) -> Exit {
    let mut store = match instance::store(command.engine(), spec, input, outputs) {
        Ok(store) => store,
        Err(error) => return Exit::not_started(&format!("{error:#}")),
    };
    let work = async {
        let command = command.instantiate_async(&mut store).await?;
        command.wasi_cli_run().call_run(&mut store).await
    };
    Exit::of(Metered::new(work, ticker, spec.account.clone()).await)
}
