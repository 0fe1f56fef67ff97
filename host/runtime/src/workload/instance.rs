//! One instance of a program: its store, with what WASI shows it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};
use wasmtime_wasi_http::WasiHttpCtx;
use witlet_wasm::limits::{EpochTicker, HOSTCALL_BYTES_MAX};

use super::account::Account;
use super::http::outgoing::Outgoing;
use super::memory::InstanceLimits;
use super::sockets;
use super::spec::WorkloadSpec;
use super::state::State;
use super::stdio::{Outlet, SilentInput, Sink};
use crate::mounts::Preopen;

/// How many handles (sockets, streams, files, timers) an instance may hold; many of them are file descriptors of
/// this process.
const HANDLES_MAX: usize = 1024;

/// Standard input of an instance.
pub(super) enum Input {
    Ended,
    /// Ends when the container is asked to stop.
    UntilAsked,
}

/// A store for one instance. Its output goes to the two sinks.
pub(super) fn store<S: Sink>(
    engine: &Engine,
    spec: &WorkloadSpec,
    input: Input,
    outputs: [Arc<S>; 2],
) -> wasmtime::Result<Store<State>> {
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES_MAX);
    let state = State {
        wasi: wasi(spec, input, outputs)?,
        http: WasiHttpCtx::new(),
        outgoing: Outgoing::new(spec.network),
        table,
        limits: InstanceLimits::new(spec.account.clone()),
        network: spec.network,
        stop: spec.stop.clone(),
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.limits);
    store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    Ok(store)
}

fn wasi<S: Sink>(
    spec: &WorkloadSpec,
    input: Input,
    [stdout, stderr]: [Arc<S>; 2],
) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.args(&spec.arguments).envs(&spec.environment).stdout(Outlet(stdout)).stderr(Outlet(stderr));
    match input {
        Input::Ended => {}
        Input::UntilAsked => _ = wasi.stdin(SilentInput(spec.stop.token())),
    }
    if !spec.working_dir.is_empty() {
        wasi.initial_cwd(&spec.working_dir);
    }
    for Preopen { host_path, guest_path, read_only } in spec.preopens.iter() {
        let permissions = if *read_only { FsPerms::ReadOnly } else { FsPerms::ReadWrite };
        wasi.preopened_dir(host_path, guest_path, permissions)
            .map_err(|error| error.context(format!("mount {}", host_path.display())))?;
    }
    sockets::allow(&mut wasi, spec.network);
    Ok(wasi.build())
}

/// Work of an instance: keeps the epoch moving only while it computes, so that one that waits costs nothing, and
/// counts its processor time.
pub(super) struct Metered<'a, F> {
    work: Pin<Box<F>>,
    ticker: &'a EpochTicker,
    account: Arc<Account>,
}

impl<'a, F: Future> Metered<'a, F> {
    pub(super) fn new(work: F, ticker: &'a EpochTicker, account: Arc<Account>) -> Self {
        Self { work: Box::pin(work), ticker, account }
    }
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _ticking = self.ticker.ticking();
        let Self { work, account, .. } = &mut *self;
        account.timed(|| work.as_mut().poll(context))
    }
}
