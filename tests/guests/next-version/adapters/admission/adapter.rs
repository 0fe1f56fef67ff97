//! The adapter of `witlet:admission@0.3.1`, a module of `witlet-wasm` with its feature `next-version`.

mod convert;

use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Resource};

use super::handles::{NodeHandle, PodHandle, RequestHandle, handle};
use super::setup::Setup;
use super::{Adapter, Answered, Handler, HandlerPre, Reply, UNSUBSCRIBED};
use crate::guest::GuestState;
use crate::worlds::unfit;
use bindings::witlet::admission::types as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "../../tests/guests/next-version/wit/admission"],
        world: "witlet:admission/admission-handler",
        imports: { default: trappable },
        with: {
            "witlet:host": crate::worlds::host::v0_1_0::bindings::witlet::host,
            "witlet:admission/types.request": crate::worlds::admission::handles::RequestHandle,
            "witlet:admission/types.pod": crate::worlds::admission::handles::PodHandle,
            "witlet:admission/types.node": crate::worlds::admission::handles::NodeHandle,
        },
    });
}

pub(super) const ADAPTER: Adapter = Adapter {
    version: "0.3.1",
    types: "witlet:admission/types",
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
        match self.witlet_admission_handler().call_validate(store, config)? {
            Ok(()) => Ok(Reply::Answer(Setup::fixed(UNSUBSCRIBED))),
            Err(words) => Ok(Reply::Refusal(words)),
        }
    }

    fn admit(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Answered> {
        let request = Resource::new_borrow(handle(store.data().serial(), 0));
        match self.witlet_admission_handler().call_admit(store, request)? {
            Ok(verdict) => Ok(convert::verdict(verdict).into()),
            Err(words) => Ok(Reply::Refusal(words).into()),
        }
    }
}

impl wit::Host for GuestState {}

impl wit::HostRequest for GuestState {
    fn operation(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<wit::Operation> {
        Ok(convert::operation(self.request(request.rep())?.operation))
    }

    fn pod(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Resource<PodHandle>> {
        self.request(request.rep())?;
        Ok(Resource::new_own(handle(self.serial(), 0)))
    }

    fn node(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Resource<NodeHandle>> {
        self.request(request.rep())?;
        Ok(Resource::new_own(handle(self.serial(), 0)))
    }

    fn drop(&mut self, _request: Resource<RequestHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostPod for GuestState {
    fn identity(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<wit::PodRef> {
        Ok(convert::pod_ref(self.pod(&pod)?))
    }

    fn label(&mut self, pod: Resource<PodHandle>, key: String) -> wasmtime::Result<Option<String>> {
        let labels = self.pod(&pod)?.pod.metadata.labels.as_ref();
        Ok(labels.and_then(|labels| labels.get(&key)).cloned())
    }

    fn containers(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<wit::Container>> {
        Ok(convert::containers(&self.pod(&pod)?.pod))
    }

    fn origin(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<wit::Origin> {
        Ok(convert::origin(&self.pod(&pod)?.source))
    }

    fn drop(&mut self, _pod: Resource<PodHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostNode for GuestState {
    fn name(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        Ok(self.node(&node)?.node.facts.name.clone())
    }

    fn fact(&mut self, node: Resource<NodeHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.node(&node)?.node.facts.facts.get(&key).cloned())
    }

    fn drop(&mut self, _node: Resource<NodeHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}
