//! WASI 0.2 for guests that must not wait: everything links, nothing is granted, nothing blocks.
//!
//! Toolchains import WASI whether a guest uses it or not, so refusing the imports would refuse the languages. Here
//! the environment and the preopens are empty, stdin is closed, stdout and stderr are lines of the log, sockets and
//! HTTP answer that access is denied, clocks stand still, and random numbers follow from the seed. Waiting for
//! something that isn't ready ends the guest with [`WouldBlock`].

pub(crate) mod async_host;
mod denied;
mod stdio;

#[cfg(test)]
mod tests;

pub(crate) use denied::{Given, define_denied};

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sync::io::streams::{InputStream, OutputStream, StreamError};
use wasmtime_wasi::p2::{DynPollable, StreamResult};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiView};
use wasmtime_wasi_io::bindings::wasi::io::poll::{Host as _, HostPollable as _};
use wasmtime_wasi_io::bindings::wasi::io::streams::{Host as _, HostInputStream as _, HostOutputStream as _};

use crate::guest::{GuestLog, GuestState};
use stdio::LogStream;
use tracing::Level;

/// How many random bytes a guest may ask for at once.
const RANDOM_BYTES_MAX: u64 = 64 << 10;
/// How many bytes the sequence of random numbers has before it repeats.
const RANDOM_PERIOD_BYTES: usize = 4 << 10;
/// The release of WASI that wasmtime-wasi serves; the linker serves older ones with it.
const IO_POLL: &str = "wasi:io/poll@0.2.12";
/// See [`IO_POLL`].
const IO_STREAMS: &str = "wasi:io/streams@0.2.12";

/// A guest waited for something that wasn't ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the plugin waited in {call}, and in admission nothing may wait")]
pub(crate) struct WouldBlock {
    pub(crate) call: &'static str,
}

/// Clocks that show one moment.
struct StandingClock(Duration);

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for StandingClock {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A guest's WASI at `now`, with random numbers that follow from `seed`.
pub(crate) fn nothing_granted(now: Timestamp, seed: &str, log: &GuestLog) -> WasiCtx {
    let since_epoch = Duration::try_from(now.as_duration()).unwrap_or_default();
    WasiCtxBuilder::new()
        .stdout(LogStream::new(log.clone(), Level::INFO))
        .stderr(LogStream::new(log.clone(), Level::WARN))
        .wall_clock(StandingClock(since_epoch))
        .monotonic_clock(StandingClock(since_epoch))
        .secure_random(Deterministic::new(random_bytes(seed, "secure")))
        .insecure_random(Deterministic::new(random_bytes(seed, "insecure")))
        .insecure_random_seed(random_seed(seed))
        .max_random_size(RANDOM_BYTES_MAX)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

fn random_bytes(seed: &str, purpose: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RANDOM_PERIOD_BYTES);
    let mut block = 0_u32;
    while bytes.len() < RANDOM_PERIOD_BYTES {
        let mut hasher = Sha256::new();
        hasher.update(purpose.as_bytes());
        hasher.update(block.to_be_bytes());
        hasher.update(seed.as_bytes());
        bytes.extend_from_slice(&hasher.finalize());
        block += 1;
    }
    bytes
}

fn random_seed(seed: &str) -> u128 {
    random_bytes(seed, "seed").iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

/// Adds all of WASI 0.2, with the calls that wait replaced by ones that end the guest where they would.
pub(crate) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    add_poll(linker)?;
    add_input(linker)?;
    add_output(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The future's result if it is there at once. It is asked twice, because a pollable for a moment that has passed
/// yields the first time.
fn at_once<T>(call: &'static str, future: impl Future<Output = T>) -> Result<T, WouldBlock> {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..2 {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Ok(value);
        }
    }
    Err(WouldBlock { call })
}

/// A stream's result as the guest gets it.
fn stream_result<T>(
    store: &mut StoreContextMut<'_, GuestState>,
    result: StreamResult<T>,
) -> wasmtime::Result<(Result<T, StreamError>,)> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => {
            let error = store.data_mut().ctx().table.convert_stream_error(error)?;
            Ok((Err(error.into()),))
        }
    }
}

fn add_poll(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut poll = linker.instance(IO_POLL)?;
    poll.func_wrap(
        "poll",
        |mut store: StoreContextMut<'_, GuestState>, (list,): (Vec<Resource<DynPollable>>,)| {
            let table = store.data_mut().ctx().table;
            Ok((at_once("wasi:io/poll.poll", table.poll(list))??,))
        },
    )?;
    poll.func_wrap(
        "[method]pollable.block",
        |mut store: StoreContextMut<'_, GuestState>, (pollable,): (Resource<DynPollable>,)| {
            let table = store.data_mut().ctx().table;
            at_once("wasi:io/poll.pollable.block", table.block(pollable))??;
            Ok(())
        },
    )
}

type Store<'a> = StoreContextMut<'a, GuestState>;

fn add_input(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut streams = linker.instance(IO_STREAMS)?;
    streams.func_wrap(
        "[method]input-stream.blocking-read",
        |mut store: Store<'_>, (stream, length): (Resource<InputStream>, u64)| {
            let table = store.data_mut().ctx().table;
            let read = at_once("wasi:io/streams.blocking-read", table.blocking_read(stream, length))?;
            stream_result(&mut store, read)
        },
    )?;
    streams.func_wrap(
        "[method]input-stream.blocking-skip",
        |mut store: Store<'_>, (stream, length): (Resource<InputStream>, u64)| {
            let table = store.data_mut().ctx().table;
            let skipped = at_once("wasi:io/streams.blocking-skip", table.blocking_skip(stream, length))?;
            stream_result(&mut store, skipped)
        },
    )
}

fn add_output(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut streams = linker.instance(IO_STREAMS)?;
    streams.func_wrap(
        "[method]output-stream.blocking-write-and-flush",
        |mut store: Store<'_>, (stream, bytes): (Resource<OutputStream>, Vec<u8>)| {
            let table = store.data_mut().ctx().table;
            let written = table.blocking_write_and_flush(stream, bytes);
            let written = at_once("wasi:io/streams.blocking-write-and-flush", written)?;
            stream_result(&mut store, written)
        },
    )?;
    streams.func_wrap(
        "[method]output-stream.blocking-write-zeroes-and-flush",
        |mut store: Store<'_>, (stream, length): (Resource<OutputStream>, u64)| {
            let table = store.data_mut().ctx().table;
            let written = table.blocking_write_zeroes_and_flush(stream, length);
            let written = at_once("wasi:io/streams.blocking-write-zeroes-and-flush", written)?;
            stream_result(&mut store, written)
        },
    )?;
    streams.func_wrap(
        "[method]output-stream.blocking-flush",
        |mut store: Store<'_>, (stream,): (Resource<OutputStream>,)| {
            let table = store.data_mut().ctx().table;
            let flushed = at_once("wasi:io/streams.blocking-flush", table.blocking_flush(stream))?;
            stream_result(&mut store, flushed)
        },
    )?;
    streams.func_wrap(
        "[method]output-stream.blocking-splice",
        |mut store: Store<'_>, (to, from, length): (Resource<OutputStream>, Resource<InputStream>, u64)| {
            let table = store.data_mut().ctx().table;
            let moved = at_once("wasi:io/streams.blocking-splice", table.blocking_splice(to, from, length))?;
            stream_result(&mut store, moved)
        },
    )
}
