//! `witlet:admission@0.2.0`.

mod convert;
mod node;
mod parts;
mod pod;

use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Resource};
use witlet_core::admission::{Operation, Shortage};

use super::answer::Statement;
use super::handles::{
    AnswerHandle, NodeHandle, OLD_POD, PODS_MAX, PodHandle, RequestHandle, ResolvedImagePart, SetupHandle,
    handle,
};
use super::setup::Setup;
use super::{Adapter, Answered, Handler, HandlerPre, Reply};
use crate::guest::GuestState;
use crate::worlds::unfit;
use bindings::witlet::admission::admission_types as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host-0.2.0", "../../wit/admission-0.2.0"],
        world: "witlet:admission/admission-handler",
        imports: { default: trappable },
        with: {
            "witlet:host": crate::worlds::host::v0_2_0::bindings::witlet::host,
            "witlet:admission/admission-types.setup": crate::worlds::admission::handles::SetupHandle,
            "witlet:admission/admission-types.answer": crate::worlds::admission::handles::AnswerHandle,
            "witlet:admission/admission-types.request": crate::worlds::admission::handles::RequestHandle,
            "witlet:admission/admission-types.pod": crate::worlds::admission::handles::PodHandle,
            "witlet:admission/admission-types.node": crate::worlds::admission::handles::NodeHandle,
            "witlet:admission/admission-types.resolved-image": crate::worlds::admission::handles::ResolvedImagePart,
            "witlet:admission/admission-types.image": crate::worlds::admission::handles::ImagePart,
            "witlet:admission/admission-types.container": crate::worlds::admission::handles::ContainerPart,
            "witlet:admission/admission-types.container-port": crate::worlds::admission::handles::ContainerPortPart,
            "witlet:admission/admission-types.mount": crate::worlds::admission::handles::MountPart,
            "witlet:admission/admission-types.volume": crate::worlds::admission::handles::VolumePart,
            "witlet:admission/admission-types.owner": crate::worlds::admission::handles::OwnerPart,
            "witlet:admission/admission-types.host-port": crate::worlds::admission::handles::HostPortPart,
            "witlet:admission/admission-types.taint": crate::worlds::admission::handles::TaintPart,
            "witlet:admission/admission-types.condition": crate::worlds::admission::handles::ConditionPart,
        },
    });
}

pub(super) const ADAPTER: Adapter = Adapter {
    version: "0.2.0",
    types: "witlet:admission/admission-types",
    add_to_linker: |linker| wit::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state),
    link: |component| {
        let handler = bindings::AdmissionHandlerIndices::new(&component)?;
        Ok(Box::new(Pre { component, handler }))
    },
};

struct Pre {
    component: InstancePre<GuestState>,
    handler: bindings::AdmissionHandlerIndices,
}

impl HandlerPre for Pre {
    fn instantiate(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Box<dyn Handler>> {
        let instance = self.component.instantiate(&mut *store)?;
        Ok(Box::new(self.handler.load(store, &instance).map_err(unfit)?))
    }
}

impl Handler for bindings::AdmissionHandler {
    fn validate(&self, store: &mut Store<GuestState>, config: &str) -> wasmtime::Result<Reply<Setup>> {
        store.data_mut().setup = Setup::default();
        let setup = Resource::new_borrow(handle(store.data().serial(), 0));
        match self.witlet_admission_handler().call_validate(&mut *store, setup, config)? {
            Ok(()) => Ok(Reply::Answer(std::mem::take(&mut store.data_mut().setup))),
            Err(error) => Ok(Reply::Refusal(store.data_mut().table.delete(error)?.words())),
        }
    }

    fn admit(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Answered> {
        let request = Resource::new_borrow(handle(store.data().serial(), 0));
        let answer = Resource::new_borrow(handle(store.data().serial(), 0));
        let returned = self.witlet_admission_handler().call_admit(&mut *store, request, answer)?;
        let said = std::mem::take(&mut store.data_mut().answer);
        match returned {
            Ok(()) => Ok(convert::answer(said)),
            Err(error) => Ok(convert::error(&store.data_mut().table.delete(error)?)),
        }
    }
}

impl wit::Host for GuestState {}

impl wit::HostSetup for GuestState {
    fn subscribe(&mut self, _setup: Resource<SetupHandle>, operation: String) -> wasmtime::Result<()> {
        self.setup.subscribe(&operation);
        Ok(())
    }

    fn knows(&mut self, _setup: Resource<SetupHandle>, operation: String) -> wasmtime::Result<bool> {
        Ok(Operation::parse(&operation).is_some())
    }

    fn warn(&mut self, _setup: Resource<SetupHandle>, message: String) -> wasmtime::Result<()> {
        self.setup.warn(&message);
        Ok(())
    }

    fn drop(&mut self, _setup: Resource<SetupHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostAnswer for GuestState {
    fn admit(&mut self, _answer: Resource<AnswerHandle>) -> wasmtime::Result<()> {
        self.answer.say(Statement::Admit);
        Ok(())
    }

    fn reject(
        &mut self,
        _answer: Resource<AnswerHandle>,
        reason: String,
        message: String,
    ) -> wasmtime::Result<()> {
        self.answer.say(Statement::Reject { reason, message });
        Ok(())
    }

    fn defer(
        &mut self,
        _answer: Resource<AnswerHandle>,
        reason: String,
        message: String,
        retry_after_milliseconds: u64,
    ) -> wasmtime::Result<()> {
        let retry_after = Duration::from_millis(retry_after_milliseconds);
        self.answer.say(Statement::Defer { reason, message, retry_after });
        Ok(())
    }

    fn shortage(
        &mut self,
        _answer: Resource<AnswerHandle>,
        resource: String,
        requested: i64,
        used: i64,
        capacity: i64,
    ) -> wasmtime::Result<()> {
        self.answer.say(Statement::Shortages(vec![Shortage { resource, requested, used, capacity }]));
        Ok(())
    }

    fn warn(&mut self, _answer: Resource<AnswerHandle>, message: String) -> wasmtime::Result<()> {
        self.answer.warn(&message);
        Ok(())
    }

    fn annotate(
        &mut self,
        _answer: Resource<AnswerHandle>,
        key: String,
        value: String,
    ) -> wasmtime::Result<()> {
        self.answer.annotate(&key, &value);
        Ok(())
    }

    fn drop(&mut self, _answer: Resource<AnswerHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostRequest for GuestState {
    fn operation(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<String> {
        Ok(self.request(request.rep())?.operation.as_str().to_owned())
    }

    fn now(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<wit::Datetime> {
        Ok(convert::datetime(self.request(request.rep())?.now))
    }

    fn pod(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Resource<PodHandle>> {
        self.request(request.rep())?;
        Ok(Resource::new_own(handle(self.serial(), 0)))
    }

    fn old_pod(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Option<Resource<PodHandle>>> {
        let has_one = self.request(request.rep())?.old_pod.is_some();
        Ok(has_one.then(|| Resource::new_own(handle(self.serial(), OLD_POD))))
    }

    fn image(
        &mut self,
        request: Resource<RequestHandle>,
    ) -> wasmtime::Result<Option<Resource<ResolvedImagePart>>> {
        let image = self.request(request.rep())?.image.clone();
        image.map(|image| self.hand_out(0, &image)).transpose()
    }

    fn node(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Resource<NodeHandle>> {
        self.request(request.rep())?;
        Ok(Resource::new_own(handle(self.serial(), 0)))
    }

    fn other_pods(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Vec<Resource<PodHandle>>> {
        let pods = self.request(request.rep())?.pods.len();
        if pods > PODS_MAX {
            wasmtime::bail!("the node has {pods} pods, more than {PODS_MAX}");
        }
        let serial = self.serial();
        Ok((1..pods).map(|index| Resource::new_own(handle(serial, index))).collect())
    }

    fn drop(&mut self, _request: Resource<RequestHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}
