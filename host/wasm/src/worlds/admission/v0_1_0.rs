//! `witlet:admission@0.1.0`.

mod convert;

use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Resource};

use super::handles::{NodeHandle, PODS_MAX, PodHandle, RequestHandle, handle};
use super::setup::Setup;
use super::values::pairs;
use super::{Adapter, Answered, Handler, HandlerPre, Reply, UNSUBSCRIBED};
use crate::guest::GuestState;
use crate::worlds::unfit;
use bindings::witlet::admission::types as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "../../wit/admission"],
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
    version: "0.1.0",
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

    fn now(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<wit::Datetime> {
        Ok(convert::datetime(self.request(request.rep())?.now))
    }

    fn pod(&mut self, request: Resource<RequestHandle>) -> wasmtime::Result<Resource<PodHandle>> {
        self.request(request.rep())?;
        Ok(Resource::new_own(handle(self.serial(), 0)))
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

impl wit::HostPod for GuestState {
    fn identity(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<wit::PodRef> {
        Ok(convert::pod_ref(self.pod(&pod)?))
    }

    fn source(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.source.to_string())
    }

    fn labels(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.pod(&pod)?.pod.metadata.labels.as_ref()))
    }

    fn annotations(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.pod(&pod)?.pod.metadata.annotations.as_ref()))
    }

    fn priority(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<i32> {
        Ok(self.pod(&pod)?.pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0))
    }

    fn containers(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<wit::Container>> {
        Ok(convert::containers(&self.pod(&pod)?.pod))
    }

    fn requests(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<wit::Quantity>> {
        Ok(convert::quantities(self.pod(&pod)?.requests()))
    }

    fn host_ports(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<wit::HostPort>> {
        Ok(self.pod(&pod)?.host_ports().iter().map(|port| convert::host_port(port)).collect())
    }

    fn qos(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<wit::QosClass> {
        Ok(convert::qos(witlet_core::pod::resources::qos(&self.pod(&pod)?.pod)))
    }

    fn json(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.json().to_owned())
    }

    fn pointer(&mut self, pod: Resource<PodHandle>, path: String) -> wasmtime::Result<Option<String>> {
        Ok(self.pod(&pod)?.pointer(&path))
    }

    fn drop(&mut self, _pod: Resource<PodHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostNode for GuestState {
    fn name(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        Ok(self.node(&node)?.node.facts.name.clone())
    }

    fn labels(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.node(&node)?.node.facts.node.metadata.labels.as_ref()))
    }

    fn taints(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<wit::Taint>> {
        Ok(convert::taints(&self.node(&node)?.node.facts.node))
    }

    fn capacity(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<wit::Quantity>> {
        let facts = &self.node(&node)?.node.facts;
        Ok(convert::resource_list(facts.node.status.as_ref().and_then(|status| status.capacity.as_ref())))
    }

    fn allocatable(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<wit::Quantity>> {
        let facts = &self.node(&node)?.node.facts;
        Ok(convert::resource_list(facts.node.status.as_ref().and_then(|status| status.allocatable.as_ref())))
    }

    fn requested(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<wit::Quantity>> {
        Ok(convert::quantities(self.node(&node)?.requested()))
    }

    fn used_host_ports(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<wit::HostPort>> {
        Ok(self.node(&node)?.used_host_ports().iter().map(|port| convert::host_port(port)).collect())
    }

    fn conditions(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<wit::Condition>> {
        Ok(convert::conditions(&self.node(&node)?.node.facts.node))
    }

    fn facts(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(Some(&self.node(&node)?.node.facts.facts)))
    }

    fn devices(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        let devices = &self.node(&node)?.node.facts.devices;
        Ok(if devices.is_empty() { "[]".to_owned() } else { devices.clone() })
    }

    fn json(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        Ok(self.node(&node)?.node.json().to_owned())
    }

    fn pointer(&mut self, node: Resource<NodeHandle>, path: String) -> wasmtime::Result<Option<String>> {
        Ok(self.node(&node)?.node.pointer(&path))
    }

    fn drop(&mut self, _node: Resource<NodeHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}
