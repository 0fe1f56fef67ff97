//! `witlet:pod-source@0.1.0`.

mod convert;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::InstancePre;
use witlet_core::sources::plugin::{PodNews, PollResponse, SourceFault};

use super::{Adapter, Feedback, NotTaken, Source, SourcePre, has_feedback};
use crate::guest::async_guest::AsyncState;
use crate::worlds::remarks::Warnings;
use crate::worlds::{Reply, silent, unfit};

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

/// The newest version of the track.
const VERSION: &str = "0.1.0";

pub(super) const ADAPTER: Adapter = Adapter {
    version: VERSION,
    types: "witlet:pod-source/types",
    // Its types have no functions.
    add_to_linker: |_linker| Ok(()),
    link: |component| {
        let source = bindings::PodSourceIndices::new(&component)?;
        let feedback = match has_feedback(&component, VERSION) {
            true => Some(feedback::StatusesIndices::new(&component)?),
            false => None,
        };
        Ok(Box::new(Pre { component, source, feedback }))
    },
};

struct Pre {
    component: InstancePre<AsyncState>,
    source: bindings::PodSourceIndices,
    feedback: Option<feedback::StatusesIndices>,
}

struct Instance {
    source: bindings::PodSource,
    feedback: Option<feedback::Statuses>,
}

#[async_trait]
impl SourcePre for Pre {
    fn feedback(&self) -> Feedback {
        if self.feedback.is_some() { Feedback::WithNextChange } else { Feedback::None }
    }

    async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Box<dyn Source>> {
        let instance = self.component.instantiate_async(&mut *store).await?;
        let source = self.source.load(&mut *store, &instance).map_err(unfit)?;
        let feedback = match &self.feedback {
            Some(indices) => Some(indices.load(store, &instance).map_err(unfit)?),
            None => None,
        };
        Ok(Box::new(Instance { source, feedback }))
    }
}

#[async_trait]
impl Source for Instance {
    async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>> {
        let config = store.data().config();
        let answer = self.source.witlet_pod_source_source().call_validate(store, &config).await?;
        Ok(silent(answer))
    }

    async fn poll(
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

    /// The contract has statuses alone.
    async fn notify(
        &self,
        store: &mut Store<AsyncState>,
        news: Arc<[PodNews]>,
    ) -> wasmtime::Result<Reply<Result<(), NotTaken>>> {
        let changed: Vec<_> = news.iter().filter_map(convert::status).collect();
        let Some(feedback) = self.feedback.as_ref().filter(|_| !changed.is_empty()) else {
            return Ok(Reply::Answer(Ok(())));
        };
        let answer = feedback.witlet_pod_source_feedback().call_statuses(store, &changed).await?;
        Ok(Reply::Answer(answer.map_err(|words| NotTaken { words, retry_after: None })))
    }
}
