//! Runs a program from its start to its end.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::{Deserialize, Serialize};
use wasmtime::Store;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};
use witlet_wasm::limits::{EpochTicker, Limits};

use super::exit::Exit;
use super::memory::MemoryLimit;
use super::program::{Program, State};
use super::sockets;
use super::stdio::{LoggedOutput, SilentInput};
use super::stop::StopSignal;
use crate::clock::Now;
use crate::log::{LogFile, Stream};
use crate::network::Network;

/// How many handles (sockets, streams, files, timers) a workload may hold; many of them are file descriptors of
/// this process.
const HANDLES_MAX: usize = 1024;

/// A folder of the node that a workload sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mount {
    /// On the node.
    pub(crate) host_path: PathBuf,
    /// For the workload.
    pub(crate) container_path: String,
    /// Whether it may only be read.
    pub(crate) read_only: bool,
}

/// What a workload is started with.
pub(crate) struct Spec {
    /// Its arguments; the first is its name.
    pub(crate) arguments: Vec<String>,
    /// Its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Where relative paths begin; empty for the root.
    pub(crate) working_dir: String,
    /// The folders that it sees.
    pub(crate) mounts: Vec<Mount>,
    /// Its network.
    pub(crate) network: Network,
    /// What it may take.
    pub(crate) limits: Limits,
    /// Where its output goes.
    pub(crate) log: Option<Arc<LogFile>>,
    /// How it is asked to stop.
    pub(crate) stop: Arc<StopSignal>,
    /// The clock of its log.
    pub(crate) now: Now,
}

/// Runs `program` until it ends. To kill it, drop the future: it gives way every few milliseconds.
pub(crate) async fn run(program: Program, spec: Spec) -> Exit {
    let outputs =
        [Stream::Stdout, Stream::Stderr].map(|stream| LoggedOutput::new(stream, spec.log.clone(), spec.now));
    let finish = FinishLog(outputs.clone());
    let wasi = match wasi(&spec, outputs) {
        Ok(wasi) => wasi,
        Err(error) => return Exit::not_started(&format!("{error:#}")),
    };
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES_MAX);
    let hostcall_bytes_max = spec.limits.hostcall_bytes_max;
    let state =
        State { wasi, table, memory: MemoryLimit::new(spec.limits), network: spec.network, stop: spec.stop };
    let mut store = Store::new(program.command.engine(), state);
    store.limiter(|state| &mut state.memory);
    store.set_hostcall_fuel(hostcall_bytes_max);
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    let work = async {
        let command = program.command.instantiate_async(&mut store).await?;
        command.wasi_cli_run().call_run(&mut store).await
    };
    let exit = Exit::of(Ticked { work: Box::pin(work), ticker: &program.ticker }.await);
    drop(finish);
    exit
}

/// What was written without a line's end is logged however the workload ends.
struct FinishLog([LoggedOutput; 2]);

impl Drop for FinishLog {
    fn drop(&mut self) {
        for output in &self.0 {
            output.finish();
        }
    }
}

fn wasi(spec: &Spec, [stdout, stderr]: [LoggedOutput; 2]) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.args(&spec.arguments)
        .envs(&spec.environment)
        .stdin(SilentInput(spec.stop.token()))
        .stdout(stdout)
        .stderr(stderr);
    if !spec.working_dir.is_empty() {
        wasi.initial_cwd(&spec.working_dir);
    }
    for Mount { host_path, container_path, read_only } in &spec.mounts {
        let permissions = if *read_only { FsPerms::ReadOnly } else { FsPerms::ReadWrite };
        wasi.preopened_dir(host_path, container_path, permissions)
            .map_err(|error| error.context(format!("mount {}", host_path.display())))?;
    }
    sockets::allow(&mut wasi, spec.network);
    Ok(wasi.build())
}

/// Keeps the epoch moving only while the workload computes: one that waits costs nothing.
struct Ticked<'a, F> {
    work: Pin<Box<F>>,
    ticker: &'a EpochTicker,
}

impl<F: Future> Future for Ticked<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _ticking = self.ticker.ticking();
        self.work.as_mut().poll(context)
    }
}
