//! The functions of the contracts that are called on the asynchronous engine, a type each.

use std::sync::Arc;
use std::time::Duration;

use witlet_core::probe::ProbeOutcome;
use witlet_core::sources::plugin::{PodNews, PollResponse, SourceFault};

use super::instance::{AsyncInstance, Handle};
use crate::guest::async_guest::AsyncState;
use crate::role::Role;
use crate::worlds::Reply;
use crate::worlds::pod_source::NotTaken;
use crate::worlds::probe::facts::ProbeFacts;
use crate::worlds::remarks::Warnings;

/// A call of a guest in one of its roles.
pub(super) trait Function: Send + Sync + 'static {
    type Output: Send + 'static;

    /// The role whose function it is.
    fn role(&self) -> Role;

    /// How long beyond its `time` a call may go on while others have the processors: not at all where its answer would be too late.
    fn beyond(&self, time: Duration) -> Duration {
        match self.role() {
            Role::PodSource => beyond_max(time),
            Role::Admission | Role::Probe => Duration::ZERO,
        }
    }

    /// Puts into the store what the guest may check.
    fn begin(&self, state: &mut AsyncState);

    /// Calls the instance.
    fn call(
        &self,
        instance: &mut AsyncInstance,
    ) -> impl Future<Output = wasmtime::Result<Reply<Self::Output>>> + Send;
}

/// The longest that any call may go on beyond its `time`.
pub(super) fn beyond_max(time: Duration) -> Duration {
    time * 3
}

/// An instance that was made for another role: the host never hands one out.
fn other_role<T>() -> wasmtime::Result<Reply<T>> {
    wasmtime::bail!("the instance was made for another role")
}

/// `validate`: whether the guest accepts its configuration.
pub(super) struct Validate(pub(super) Role);

impl Function for Validate {
    type Output = Warnings;

    fn role(&self) -> Role {
        self.0
    }

    fn beyond(&self, time: Duration) -> Duration {
        beyond_max(time)
    }

    fn begin(&self, _state: &mut AsyncState) {}

    async fn call(&self, instance: &mut AsyncInstance) -> wasmtime::Result<Reply<Warnings>> {
        match &instance.handle {
            Handle::Prober(prober) => prober.validate(&mut instance.store).await,
            Handle::Source(source) => source.validate(&mut instance.store).await,
        }
    }
}

/// `check-parameters`: whether the probe type accepts these parameters.
pub(super) struct CheckParameters {
    pub(super) parameters: Arc<str>,
    /// How long the probe has that waits for it.
    pub(super) probe_time: Duration,
}

impl Function for CheckParameters {
    type Output = Warnings;

    fn role(&self) -> Role {
        Role::Probe
    }

    fn beyond(&self, time: Duration) -> Duration {
        beyond_max(time).min(self.probe_time.saturating_sub(time))
    }

    fn begin(&self, _state: &mut AsyncState) {}

    async fn call(&self, instance: &mut AsyncInstance) -> wasmtime::Result<Reply<Warnings>> {
        match &instance.handle {
            Handle::Prober(prober) => prober.check_parameters(&mut instance.store, &self.parameters).await,
            Handle::Source(_) => other_role(),
        }
    }
}

/// `probe`.
pub(super) struct Probe(pub(super) Arc<ProbeFacts>);

impl Function for Probe {
    type Output = ProbeOutcome;

    fn role(&self) -> Role {
        Role::Probe
    }

    fn begin(&self, state: &mut AsyncState) {
        state.begin_probe(self.0.clone());
    }

    async fn call(&self, instance: &mut AsyncInstance) -> wasmtime::Result<Reply<ProbeOutcome>> {
        match &instance.handle {
            Handle::Prober(prober) => prober.probe(&mut instance.store, &self.0.request.parameters).await,
            Handle::Source(_) => other_role(),
        }
    }
}

/// `poll`: what a source has now.
pub(super) struct Poll(pub(super) Option<String>);

impl Function for Poll {
    type Output = Result<PollResponse, SourceFault>;

    fn role(&self) -> Role {
        Role::PodSource
    }

    fn begin(&self, state: &mut AsyncState) {
        state.open_network();
    }

    async fn call(&self, instance: &mut AsyncInstance) -> wasmtime::Result<Reply<Self::Output>> {
        match &instance.handle {
            Handle::Source(source) => source.poll(&mut instance.store, self.0.as_deref()).await,
            Handle::Prober(_) => other_role(),
        }
    }
}

/// `statuses` or `notify`: news of a source's pods.
pub(super) struct Notify(pub(super) Arc<[PodNews]>);

impl Function for Notify {
    type Output = Result<(), NotTaken>;

    fn role(&self) -> Role {
        Role::PodSource
    }

    fn begin(&self, state: &mut AsyncState) {
        state.open_network();
    }

    async fn call(&self, instance: &mut AsyncInstance) -> wasmtime::Result<Reply<Self::Output>> {
        match &instance.handle {
            Handle::Source(source) => source.notify(&mut instance.store, self.0.clone()).await,
            Handle::Prober(_) => other_role(),
        }
    }
}
