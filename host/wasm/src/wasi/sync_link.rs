//! WASI for stores of the synchronous engine: calls that would wait end the guest.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::bindings::sync::io::streams::{InputStream, OutputStream, StreamError};
use wasmtime_wasi::p2::{DynPollable, StreamResult};
use wasmtime_wasi_io::bindings::wasi::io::poll::{Host as _, HostPollable as _};
use wasmtime_wasi_io::bindings::wasi::io::streams::{Host as _, HostInputStream as _, HostOutputStream as _};

use super::WouldBlock;
use crate::guest::GuestState;

/// The release of WASI that wasmtime-wasi serves; the linker serves older ones with it.
const IO_POLL: &str = "wasi:io/poll@0.2.12";
/// See [`IO_POLL`].
const IO_STREAMS: &str = "wasi:io/streams@0.2.12";

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
pub(super) fn at_once<T>(call: &'static str, future: impl Future<Output = T>) -> Result<T, WouldBlock> {
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
