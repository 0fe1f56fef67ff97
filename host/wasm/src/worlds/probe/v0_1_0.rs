//! `witlet:probe@0.1.0`.

mod convert;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Resource};
use witlet_core::probe::ProbeOutcome;

use super::exec::Exec;
use super::handles::TargetHandle;
use super::{Adapter, Prober, ProberPre};
use crate::guest::async_guest::AsyncState;
use crate::worlds::remarks::Warnings;
use crate::worlds::{Reply, reply, silent, unfit};
use bindings::witlet::probe::{exec, types as wit};

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "../../wit/probe"],
        inline: "package witlet:adapter;
            world probing {
                include witlet:probe/probe-type@0.1.0;
                import witlet:probe/exec@0.1.0;
            }",
        world: "witlet:adapter/probing",
        imports: { "witlet:probe/exec.run": async | trappable, default: trappable },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_1_0::bindings::witlet::host,
            "witlet:probe/types.target": crate::worlds::probe::handles::TargetHandle,
        },
    });
}

pub(super) const ADAPTER: Adapter = Adapter {
    version: "0.1.0",
    types: "witlet:probe/types",
    add_to_linker: |linker| {
        wit::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state)?;
        exec::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state)
    },
    link: |component| {
        let prober = bindings::ProbingIndices::new(&component)?;
        Ok(Box::new(Pre { component, prober }))
    },
};

struct Pre {
    component: InstancePre<AsyncState>,
    prober: bindings::ProbingIndices,
}

#[async_trait]
impl ProberPre for Pre {
    async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Box<dyn Prober>> {
        let instance = self.component.instantiate_async(&mut *store).await?;
        Ok(Box::new(self.prober.load(store, &instance).map_err(unfit)?))
    }
}

#[async_trait]
impl Prober for bindings::Probing {
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
        let answer = self.witlet_probe_prober().call_probe(store, target, parameters).await?;
        Ok(reply(answer.map(convert::outcome)))
    }
}

impl wit::Host for AsyncState {}

impl wit::HostTarget for AsyncState {
    fn pod(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<wit::PodRef> {
        Ok(convert::pod_ref(&self.target(&target)?.request.pod))
    }

    fn pod_json(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&target)?.json().to_owned())
    }

    fn pod_pointer(
        &mut self,
        target: Resource<TargetHandle>,
        path: String,
    ) -> wasmtime::Result<Option<String>> {
        Ok(self.target(&target)?.pointer(&path))
    }

    fn container(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&target)?.request.container.clone())
    }

    fn container_id(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&target)?.request.container_id.to_string())
    }

    fn restarts(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<u32> {
        Ok(self.target(&target)?.request.restarts)
    }

    fn pod_ips(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<Vec<String>> {
        Ok(self.target(&target)?.request.pod_ips.iter().map(ToString::to_string).collect())
    }

    fn host_ips(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<Vec<String>> {
        Ok(self.target(&target)?.request.host_ips.iter().map(ToString::to_string).collect())
    }

    fn named_ports(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<Vec<wit::NamedPort>> {
        Ok(self.target(&target)?.named_ports().map(convert::named_port).collect())
    }

    fn kind(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<wit::ProbeKind> {
        Ok(convert::kind(self.target(&target)?.request.kind))
    }

    fn remaining_milliseconds(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<u64> {
        Ok(self.target(&target)?.remaining_milliseconds())
    }

    fn drop(&mut self, _target: Resource<TargetHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl exec::Host for AsyncState {
    /// One at a time by nature: the guest waits for it.
    async fn run(
        &mut self,
        target: Resource<TargetHandle>,
        command: Vec<String>,
    ) -> wasmtime::Result<Result<exec::ExecResult, exec::ExecError>> {
        let exec = Exec::new(self.target(&target)?.clone(), self);
        Ok(convert::exec_result(exec.run(command).await))
    }
}
