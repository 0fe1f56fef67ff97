//! `witlet:pod-source@0.1.0`.

mod convert;

use wasmtime::Store;
use wasmtime::component::InstancePre;
use witlet_core::sources::plugin::{PodStatusChange, PollResponse, SourceFault};

use crate::guest::async_guest::AsyncState;
use crate::worlds::remarks::Warnings;
use crate::worlds::{Reply, reply, silent, unfit};

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "../../wit/pod-source"],
        world: "witlet:pod-source/pod-source",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_1_0::bindings::witlet::host,
        },
    });
}

/// The optional export, by itself.
mod feedback {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host", "../../wit/pod-source"],
        inline: "package witlet:adapter;
            world statuses { export witlet:pod-source/feedback@0.1.0; }",
        world: "witlet:adapter/statuses",
        exports: { default: async },
        with: {
            "witlet:pod-source/types": super::bindings::witlet::pod_source::types,
        },
    });
}

pub(crate) struct Pre {
    component: InstancePre<AsyncState>,
    source: bindings::PodSourceIndices,
    feedback: Option<feedback::StatusesIndices>,
}

pub(crate) struct Instance {
    source: bindings::PodSource,
    feedback: Option<feedback::Statuses>,
}

impl Pre {
    pub(crate) fn new(pre: &InstancePre<AsyncState>, feedback: bool) -> wasmtime::Result<Self> {
        let source = bindings::PodSourceIndices::new(pre)?;
        let feedback = match feedback {
            true => Some(feedback::StatusesIndices::new(pre)?),
            false => None,
        };
        Ok(Self { component: pre.clone(), source, feedback })
    }

    pub(crate) fn has_feedback(&self) -> bool {
        self.feedback.is_some()
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Instance> {
        let instance = self.component.instantiate_async(&mut *store).await?;
        let source = self.source.load(&mut *store, &instance).map_err(unfit)?;
        let feedback = match &self.feedback {
            Some(indices) => Some(indices.load(store, &instance).map_err(unfit)?),
            None => None,
        };
        Ok(Instance { source, feedback })
    }
}

impl Instance {
    pub(crate) async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>> {
        let config = store.data().config();
        let answer = self.source.witlet_pod_source_source().call_validate(store, &config).await?;
        Ok(silent(answer))
    }

    pub(crate) async fn poll(
        &self,
        store: &mut Store<AsyncState>,
        cursor: Option<&str>,
    ) -> wasmtime::Result<Reply<Result<PollResponse, SourceFault>>> {
        let answer = self.source.witlet_pod_source_source().call_poll(store, cursor).await?;
        Ok(match convert::poll(answer) {
            Ok(answer) => Reply::Answer(answer),
            Err(fault) => Reply::Malformed(fault.to_string()),
        })
    }

    pub(crate) async fn statuses(
        &self,
        store: &mut Store<AsyncState>,
        changed: Vec<PodStatusChange>,
    ) -> wasmtime::Result<Reply<()>> {
        let Some(feedback) = &self.feedback else { return Ok(Reply::Answer(())) };
        let changed: Vec<_> = changed.into_iter().map(convert::status).collect();
        let answer = feedback.witlet_pod_source_feedback().call_statuses(store, &changed).await?;
        Ok(reply(answer))
    }
}
