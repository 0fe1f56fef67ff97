//! `witlet:probe@0.2.0`.

mod connections;
mod convert;
mod target;

use std::time::Duration;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Resource};
use witlet_core::probe::ProbeOutcome;

use super::answer::Statement;
use super::exec::Exec;
use super::handles::{AnswerHandle, CheckHandle, EndedPart, SetupHandle, TargetHandle};
use super::{Adapter, Prober, ProberPre};
use crate::guest::async_guest::AsyncState;
use crate::worlds::host::error::GuestError;
use crate::worlds::remarks::Warnings;
use crate::worlds::{Reply, unfit};
use bindings::witlet::probe::{exec, probe_types as wit};

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host-0.2.0", "../../wit/probe-0.2.0"],
        inline: "package witlet:adapter;
            world probing {
                include witlet:probe/probe-type@0.2.0;
                import witlet:probe/exec@0.2.0;
                import witlet:probe/connections@0.2.0;
            }",
        world: "witlet:adapter/probing",
        imports: {
            "witlet:probe/exec.run": async | trappable,
            "witlet:probe/connections.open": async | trappable,
            "witlet:probe/connections.open-loopback": async | trappable,
            "witlet:probe/connections.[method]connection.start-tls": async | trappable,
            "witlet:probe/connections.[method]connection.write": async | trappable,
            "witlet:probe/connections.[method]connection.read": async | trappable,
            "witlet:probe/connections.[method]connection.shutdown": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_2_0::bindings::witlet::host,
            "witlet:probe/probe-types.setup": crate::worlds::probe::handles::SetupHandle,
            "witlet:probe/probe-types.check": crate::worlds::probe::handles::CheckHandle,
            "witlet:probe/probe-types.answer": crate::worlds::probe::handles::AnswerHandle,
            "witlet:probe/probe-types.target": crate::worlds::probe::handles::TargetHandle,
            "witlet:probe/probe-types.pod": crate::worlds::probe::handles::PodHandle,
            "witlet:probe/probe-types.container": crate::worlds::probe::handles::ContainerHandle,
            "witlet:probe/probe-types.container-port": crate::worlds::probe::handles::PortPart,
            "witlet:probe/exec.ended": crate::worlds::probe::handles::EndedPart,
            "witlet:probe/connections.connection": crate::guest::connection::OpenConnection,
        },
    });
}

pub(super) const ADAPTER: Adapter = Adapter {
    version: "0.2.0",
    types: "witlet:probe/probe-types",
    add_to_linker: |linker| {
        wit::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state)?;
        exec::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state)?;
        connections::add_to_linker(linker)
    },
    link: |component| {
        let prober = bindings::ProbingIndices::new(&component)?;
        Ok(Box::new(Pre { component, prober }))
    },
};

/// The plugin's histogram of what its probes say of latencies.
const LATENCY: &str = "probe_latency_seconds";

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

/// Returns what the guest warned of while it said yes, or its error.
fn warned(
    store: &mut Store<AsyncState>,
    answer: Result<(), Resource<GuestError>>,
) -> wasmtime::Result<Reply<Warnings>> {
    let state = store.data_mut();
    match answer {
        Ok(()) => Ok(Reply::Answer(state.take_warnings())),
        Err(error) => Ok(Reply::Refusal(state.resources().delete(error)?.words())),
    }
}

impl AsyncState {
    /// The outcome of the store's probe, as it was said. What was said next to it is noted with the probe.
    fn finish_probe(&mut self) -> Reply<ProbeOutcome> {
        let (reply, remarks) = std::mem::take(&mut self.found).finish();
        let Some(probe) = self.probe().cloned() else { return reply };
        if let Some(latency) = remarks.latency {
            let labels = vec![("probe".to_owned(), convert::kind(probe.request.kind).to_owned())];
            self.host().metrics.observe(LATENCY.to_owned(), labels, latency.as_secs_f64());
        }
        probe.note_remarks(remarks);
        reply
    }
}

#[async_trait]
impl Prober for bindings::Probing {
    async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>> {
        let config = store.data().config();
        let setup = Resource::new_borrow(store.data().serial());
        let answer = self.witlet_probe_prober().call_validate(&mut *store, setup, &config).await?;
        warned(store, answer)
    }

    async fn check_parameters(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<Warnings>> {
        let check = Resource::new_borrow(store.data().serial());
        let prober = self.witlet_probe_prober();
        let answer = prober.call_check_parameters(&mut *store, check, parameters).await?;
        warned(store, answer)
    }

    async fn probe(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<ProbeOutcome>> {
        let target = Resource::new_borrow(store.data().serial());
        let answer = Resource::new_borrow(store.data().serial());
        let prober = self.witlet_probe_prober();
        let returned = prober.call_probe(&mut *store, target, parameters, answer).await?;
        let state = store.data_mut();
        match returned {
            Ok(()) => Ok(state.finish_probe()),
            // It takes the place of what was said.
            Err(error) => Ok(Reply::Refusal(state.resources().delete(error)?.words())),
        }
    }
}

impl wit::Host for AsyncState {}

impl wit::HostSetup for AsyncState {
    fn warn(&mut self, _setup: Resource<SetupHandle>, message: String) -> wasmtime::Result<()> {
        self.warn(&message);
        Ok(())
    }

    fn drop(&mut self, _setup: Resource<SetupHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostCheck for AsyncState {
    fn warn(&mut self, _check: Resource<CheckHandle>, message: String) -> wasmtime::Result<()> {
        self.warn(&message);
        Ok(())
    }

    fn drop(&mut self, _check: Resource<CheckHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostAnswer for AsyncState {
    fn success(&mut self, _answer: Resource<AnswerHandle>, message: String) -> wasmtime::Result<()> {
        self.found.say(Statement::Success(message));
        Ok(())
    }

    fn failure(&mut self, _answer: Resource<AnswerHandle>, message: String) -> wasmtime::Result<()> {
        self.found.say(Statement::Failure(message));
        Ok(())
    }

    fn unknown(&mut self, _answer: Resource<AnswerHandle>, message: String) -> wasmtime::Result<()> {
        self.found.say(Statement::Unknown(message));
        Ok(())
    }

    fn warn(&mut self, _answer: Resource<AnswerHandle>, message: String) -> wasmtime::Result<()> {
        self.found.warn(&message);
        Ok(())
    }

    fn latency(&mut self, _answer: Resource<AnswerHandle>, nanoseconds: u64) -> wasmtime::Result<()> {
        self.found.set_latency(Duration::from_nanos(nanoseconds));
        Ok(())
    }

    fn annotate(
        &mut self,
        _answer: Resource<AnswerHandle>,
        key: String,
        value: String,
    ) -> wasmtime::Result<()> {
        self.found.annotate(&key, &value);
        Ok(())
    }

    fn drop(&mut self, _answer: Resource<AnswerHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl exec::Host for AsyncState {
    /// One at a time by nature: the guest waits for it.
    async fn run(
        &mut self,
        target: Resource<TargetHandle>,
        command: Vec<String>,
    ) -> wasmtime::Result<Result<Resource<EndedPart>, Resource<GuestError>>> {
        let exec = Exec::new(self.target(&target)?.clone(), self);
        match convert::ended(exec.run(command).await) {
            Ok(output) => {
                let ended = EndedPart { serial: self.serial(), output };
                Ok(Ok(self.resources().push(ended)?))
            }
            Err(error) => Ok(Err(self.resources().push(error)?)),
        }
    }
}

impl exec::HostEnded for AsyncState {
    fn exit_code(&mut self, ended: Resource<EndedPart>) -> wasmtime::Result<i32> {
        Ok(self.ended(&ended)?.exit_code)
    }

    fn output(&mut self, ended: Resource<EndedPart>) -> wasmtime::Result<Vec<u8>> {
        Ok(self.ended(&ended)?.stdout.clone())
    }

    fn error_output(&mut self, ended: Resource<EndedPart>) -> wasmtime::Result<Vec<u8>> {
        Ok(self.ended(&ended)?.stderr.clone())
    }

    fn drop(&mut self, ended: Resource<EndedPart>) -> wasmtime::Result<()> {
        self.resources().delete(ended)?;
        Ok(())
    }
}
