//! `wasi:sockets/ip-name-lookup`: names that the grants allow, pinned for the call.

use std::net::IpAddr;
use std::vec;

use async_trait::async_trait;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, Network};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use witlet_egress::{LookupError, ResolveError};

use crate::guest::async_guest::AsyncState;

/// The release of WASI that wasmtime-wasi serves; the linker serves older ones with it.
const IP_NAME_LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// A lookup: the resource `resolve-address-stream`.
enum Lookup {
    Running(AbortOnDropJoinHandle<Result<Vec<IpAddr>, ErrorCode>>),
    Found(vec::IntoIter<IpAddr>),
    Failed(ErrorCode),
}

#[async_trait]
impl Pollable for Lookup {
    async fn ready(&mut self) {
        if let Self::Running(running) = self {
            *self = match running.await {
                Ok(found) => Self::Found(found.into_iter()),
                Err(code) => Self::Failed(code),
            };
        }
    }
}

type Store<'a> = StoreContextMut<'a, AsyncState>;

/// Replaces the interface.
pub(super) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    let mut lookup = linker.instance(IP_NAME_LOOKUP)?;
    lookup.resource(
        "resolve-address-stream",
        ResourceType::host::<Lookup>(),
        |mut store: Store<'_>, rep| {
            store.data_mut().resources().delete(Resource::<Lookup>::new_own(rep))?;
            Ok(())
        },
    )?;
    lookup.func_wrap(
        "resolve-addresses",
        |mut store: Store<'_>, (network, name): (Resource<Network>, String)| {
            store.data_mut().resources().get(&network)?;
            let lookup = begin(store.data(), name);
            Ok((Ok::<_, ErrorCode>(store.data_mut().resources().push(lookup)?),))
        },
    )?;
    lookup.func_wrap(
        "[method]resolve-address-stream.resolve-next-address",
        |mut store: Store<'_>, (lookup,): (Resource<Lookup>,)| {
            Ok((next(store.data_mut().resources().get_mut(&lookup)?),))
        },
    )?;
    lookup.func_wrap(
        "[method]resolve-address-stream.subscribe",
        |mut store: Store<'_>,
         (lookup,): (Resource<Lookup>,)|
         -> wasmtime::Result<(Resource<DynPollable>,)> {
            Ok((subscribe(store.data_mut().resources(), lookup)?,))
        },
    )
}

fn next(lookup: &mut Lookup) -> Result<Option<IpAddress>, ErrorCode> {
    match lookup {
        Lookup::Running(_) => Err(ErrorCode::WouldBlock),
        Lookup::Found(found) => Ok(found.next().map(IpAddress::from)),
        Lookup::Failed(code) => Err(*code),
    }
}

/// Addresses need no one's answer, and naming one opens nothing.
fn begin(state: &AsyncState, name: String) -> Lookup {
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if let Ok(address) = address {
        return Lookup::Found(vec![address].into_iter());
    }
    let (egress, reach) = state.egress();
    // Refused at once, so that a guest without grants costs nothing.
    if !reach.permits_lookup(&name) {
        return Lookup::Failed(ErrorCode::AccessDenied);
    }
    let (egress, reach) = (egress.clone(), reach.clone());
    Lookup::Running(spawn(async move { egress.look_up(&reach, &name).await.map_err(code) }))
}

fn code(error: LookupError) -> ErrorCode {
    match error {
        LookupError::Denied { .. } | LookupError::AddressesDenied { .. } | LookupError::TooMany => {
            ErrorCode::AccessDenied
        }
        LookupError::Resolve(ResolveError::Timeout { .. }) => ErrorCode::TemporaryResolverFailure,
        LookupError::Resolve(ResolveError::Failed { .. }) => ErrorCode::NameUnresolvable,
    }
}
