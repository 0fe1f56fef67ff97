//! `witlet:pod-source@0.2.0`.

mod convert;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::{HasSelf, InstancePre, Resource};
use witlet_core::sources::plugin::{PodNews, PollResponse, SourceFault};

use super::handles::{AnswerHandle, ChangePart, NewsHandle, SetupHandle};
use super::{Adapter, Feedback, NotTaken, Source, SourcePre, has_feedback};
use crate::guest::async_guest::AsyncState;
use crate::worlds::remarks::Warnings;
use crate::worlds::{Reply, unfit};
use bindings::witlet::pod_source::source_types as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host-0.2.0", "../../wit/pod-source-0.2.0"],
        world: "witlet:pod-source/pod-source",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_2_0::bindings::witlet::host,
            "witlet:pod-source/source-types.setup": crate::worlds::pod_source::handles::SetupHandle,
            "witlet:pod-source/source-types.answer": crate::worlds::pod_source::handles::AnswerHandle,
            "witlet:pod-source/source-types.news": crate::worlds::pod_source::handles::NewsHandle,
            "witlet:pod-source/source-types.change": crate::worlds::pod_source::handles::ChangePart,
        },
    });
}

/// The optional export, by itself.
mod feedback {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: ["../../wit/host-0.2.0", "../../wit/pod-source-0.2.0"],
        inline: "package witlet:adapter;
            world notified { export witlet:pod-source/feedback@0.2.0; }",
        world: "witlet:adapter/notified",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "witlet:host": crate::worlds::host::v0_2_0::bindings::witlet::host,
            "witlet:pod-source/source-types": super::bindings::witlet::pod_source::source_types,
        },
    });
}

/// The version of the contract.
const VERSION: &str = "0.2.0";

pub(super) const ADAPTER: Adapter = Adapter {
    version: VERSION,
    types: "witlet:pod-source/source-types",
    add_to_linker: |linker| wit::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state),
    link: |component| {
        let source = bindings::PodSourceIndices::new(&component)?;
        let feedback = match has_feedback(&component, VERSION) {
            true => Some(feedback::NotifiedIndices::new(&component)?),
            false => None,
        };
        Ok(Box::new(Pre { component, source, feedback }))
    },
};

struct Pre {
    component: InstancePre<AsyncState>,
    source: bindings::PodSourceIndices,
    feedback: Option<feedback::NotifiedIndices>,
}

struct Instance {
    source: bindings::PodSource,
    feedback: Option<feedback::Notified>,
}

#[async_trait]
impl SourcePre for Pre {
    fn feedback(&self) -> Feedback {
        if self.feedback.is_some() { Feedback::AtLeastOnce } else { Feedback::None }
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
        let setup = Resource::new_borrow(store.data().serial());
        let answer =
            self.source.witlet_pod_source_source().call_validate(&mut *store, setup, &config).await?;
        let state = store.data_mut();
        match answer {
            Ok(()) => Ok(Reply::Answer(state.take_warnings())),
            Err(error) => Ok(Reply::Refusal(state.resources().delete(error)?.words())),
        }
    }

    async fn poll(
        &self,
        store: &mut Store<AsyncState>,
        cursor: Option<&str>,
    ) -> wasmtime::Result<Reply<Result<PollResponse, SourceFault>>> {
        let answer = Resource::new_borrow(store.data().serial());
        let source = self.source.witlet_pod_source_source();
        let returned = source.call_poll(&mut *store, cursor, answer).await?;
        let state = store.data_mut();
        let has = std::mem::take(&mut state.has);
        match returned {
            Ok(()) => Ok(match has.finish() {
                Ok(response) => Reply::Answer(Ok(response)),
                Err(fault) => Reply::Malformed(fault.to_string()),
            }),
            // It takes the place of what was said.
            Err(error) => {
                let fault = convert::fault(&state.resources().delete(error)?);
                Ok(Reply::Answer(Err(fault)))
            }
        }
    }

    async fn notify(
        &self,
        store: &mut Store<AsyncState>,
        news: Arc<[PodNews]>,
    ) -> wasmtime::Result<Reply<Result<(), NotTaken>>> {
        let Some(feedback) = &self.feedback else { return Ok(Reply::Answer(Ok(()))) };
        store.data_mut().set_news(news);
        let handle = Resource::new_borrow(store.data().serial());
        let answer = feedback.witlet_pod_source_feedback().call_notify(&mut *store, handle).await?;
        match answer {
            Ok(()) => Ok(Reply::Answer(Ok(()))),
            Err(error) => {
                let error = store.data_mut().resources().delete(error)?;
                Ok(Reply::Answer(Err(NotTaken { words: error.words(), retry_after: error.retry_after })))
            }
        }
    }
}

impl wit::Host for AsyncState {}

impl wit::HostSetup for AsyncState {
    fn warn(&mut self, _setup: Resource<SetupHandle>, message: String) -> wasmtime::Result<()> {
        AsyncState::warn(self, &message);
        Ok(())
    }

    fn drop(&mut self, _setup: Resource<SetupHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostAnswer for AsyncState {
    fn pod(&mut self, _answer: Resource<AnswerHandle>, manifest: String) -> wasmtime::Result<()> {
        self.has.pod(manifest);
        Ok(())
    }

    fn empty(&mut self, _answer: Resource<AnswerHandle>) -> wasmtime::Result<()> {
        self.has.empty();
        Ok(())
    }

    fn unchanged(&mut self, _answer: Resource<AnswerHandle>) -> wasmtime::Result<()> {
        self.has.unchanged();
        Ok(())
    }

    fn cursor(&mut self, _answer: Resource<AnswerHandle>, cursor: String) -> wasmtime::Result<()> {
        self.has.set_cursor(cursor);
        Ok(())
    }

    fn next_poll_milliseconds(
        &mut self,
        _answer: Resource<AnswerHandle>,
        milliseconds: u64,
    ) -> wasmtime::Result<()> {
        self.has.set_next_poll(Duration::from_millis(milliseconds));
        Ok(())
    }

    fn drop(&mut self, _answer: Resource<AnswerHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostNews for AsyncState {
    fn next(&mut self, _news: Resource<NewsHandle>) -> wasmtime::Result<Option<Resource<ChangePart>>> {
        let serial = self.serial();
        let Some(index) = self.next_news() else { return Ok(None) };
        Ok(Some(self.resources().push(ChangePart { serial, index })?))
    }

    fn drop(&mut self, _news: Resource<NewsHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl AsyncState {
    /// One of the news of the call that runs.
    fn change(&mut self, change: &Resource<ChangePart>) -> wasmtime::Result<&PodNews> {
        let ChangePart { serial, index } = *self.resources().get(change)?;
        match self.news_at(serial, index) {
            Some(news) => Ok(news),
            None => wasmtime::bail!("the handle belongs to earlier news, which are over"),
        }
    }
}

impl wit::HostChange for AsyncState {
    fn kind(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(convert::kind(AsyncState::change(self, &change)?).to_owned())
    }

    fn namespace(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(AsyncState::change(self, &change)?.namespace().to_owned())
    }

    fn name(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(AsyncState::change(self, &change)?.name().to_owned())
    }

    fn uid(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(convert::uid(AsyncState::change(self, &change)?))
    }

    fn phase(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(convert::brief(AsyncState::change(self, &change)?).phase)
    }

    fn reason(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(convert::brief(AsyncState::change(self, &change)?).reason)
    }

    fn message(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<String> {
        Ok(convert::brief(AsyncState::change(self, &change)?).message)
    }

    fn status(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<Option<String>> {
        Ok(convert::status(AsyncState::change(self, &change)?))
    }

    fn drop(&mut self, change: Resource<ChangePart>) -> wasmtime::Result<()> {
        self.resources().delete(change)?;
        Ok(())
    }
}
