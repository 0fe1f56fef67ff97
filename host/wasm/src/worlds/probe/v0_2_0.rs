//! `witlet:probe@0.2.0`, which only the tests have: it shows that components of several versions run side by side, and
//! what a further version takes.

use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker, Resource};
use witlet_core::probe::ProbeOutcome;

use crate::guest::async_guest::AsyncState;
use crate::worlds::Reply;
use bindings::witlet::probe::types as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "src/worlds/probe/v0_2_0"],
        world: "witlet:probe/probe-type",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_1_0::bindings::witlet::host,
            "witlet:probe/types.target": super::super::v0_1_0::TargetHandle,
        },
    });
}

pub(crate) type Pre = bindings::ProbeTypePre<AsyncState>;
pub(crate) type Instance = bindings::ProbeType;
type Target = Resource<super::v0_1_0::TargetHandle>;

pub(crate) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    wit::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state)
}

fn reply(answer: Result<(), String>) -> Reply<()> {
    match answer {
        Ok(()) => Reply::Answer(()),
        Err(words) => Reply::Refusal(words),
    }
}

pub(crate) async fn validate(
    instance: &Instance,
    store: &mut Store<AsyncState>,
) -> wasmtime::Result<Reply<()>> {
    let config = store.data().config();
    Ok(reply(instance.witlet_probe_prober().call_validate(store, &config).await?))
}

pub(crate) async fn check_parameters(
    instance: &Instance,
    store: &mut Store<AsyncState>,
    parameters: &str,
) -> wasmtime::Result<Reply<()>> {
    Ok(reply(instance.witlet_probe_prober().call_check_parameters(store, parameters).await?))
}

pub(crate) async fn probe(
    instance: &Instance,
    store: &mut Store<AsyncState>,
    parameters: &str,
) -> wasmtime::Result<Reply<ProbeOutcome>> {
    let target = Resource::new_borrow(store.data().serial());
    Ok(match instance.witlet_probe_prober().call_probe(store, target, parameters).await? {
        wit::Outcome::Success(text) => Reply::Answer(ProbeOutcome::Success(text)),
        wit::Outcome::Warning(text) => Reply::Answer(ProbeOutcome::Warning(text)),
        wit::Outcome::Failure(text) => Reply::Answer(ProbeOutcome::Failure(text)),
        wit::Outcome::Unknown(text) => Reply::Refusal(text),
    })
}

impl wit::Host for AsyncState {}

impl wit::HostTarget for AsyncState {
    fn container(&mut self, target: Target) -> wasmtime::Result<String> {
        Ok(self.target(&target)?.request.container.clone())
    }

    fn starts(&mut self, target: Target) -> wasmtime::Result<u32> {
        Ok(self.target(&target)?.request.restarts + 1)
    }

    fn drop(&mut self, _target: Target) -> wasmtime::Result<()> {
        Ok(())
    }
}
