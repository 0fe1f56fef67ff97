//! The adapter of `witlet:probe@0.3.0-draft.1`, a module of `witlet-wasm` in its unit tests: components of several versions run side by
//! side, one of a draft among them.

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Resource};
use witlet_core::probe::ProbeOutcome;

use super::{Adapter, Prober, ProberPre};
use crate::guest::async_guest::AsyncState;
use crate::worlds::remarks::Warnings;
use crate::worlds::{Reply, silent};
use bindings::witlet::probe::types as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "../../tests/guests/next-version/wit/probe"],
        world: "witlet:probe/probe-type",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_1_0::bindings::witlet::host,
            "witlet:probe/types.target": crate::worlds::probe::handles::TargetHandle,
        },
    });
}

pub(super) const ADAPTER: Adapter = Adapter {
    version: "0.3.0-draft.1",
    types: "witlet:probe/types",
    add_to_linker: |linker| wit::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state),
    link: |component| Ok(Box::new(bindings::ProbeTypePre::new(component)?)),
};

#[async_trait]
impl ProberPre for bindings::ProbeTypePre<AsyncState> {
    async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Box<dyn Prober>> {
        Ok(Box::new(self.instantiate_async(store).await?))
    }
}

type Target = Resource<super::handles::TargetHandle>;

#[async_trait]
impl Prober for bindings::ProbeType {
    async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>> {
        let config = store.data().config();
        Ok(silent(self.witlet_probe_prober().call_validate(store, &config).await?))
    }

    async fn check_parameters(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<Warnings>> {
        Ok(silent(self.witlet_probe_prober().call_check_parameters(store, parameters).await?))
    }

    async fn probe(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<ProbeOutcome>> {
        let target = Resource::new_borrow(store.data().serial());
        Ok(match self.witlet_probe_prober().call_probe(store, target, parameters).await? {
            wit::Outcome::Success(text) => Reply::Answer(ProbeOutcome::Success(text)),
            wit::Outcome::Warning(text) => Reply::Answer(ProbeOutcome::Warning(text)),
            wit::Outcome::Failure(text) => Reply::Answer(ProbeOutcome::Failure(text)),
            wit::Outcome::Unknown(text) => Reply::Refusal(text),
        })
    }
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
