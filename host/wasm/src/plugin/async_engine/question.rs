//! What guests are asked: one type for each function of the contracts.

use std::sync::Arc;

use witlet_core::probe::ProbeOutcome;
use witlet_core::sources::plugin::{PodStatusChange, PollAnswer, SourceFault};

use super::pool::{Guest, Handle};
use crate::guest::async_guest::AsyncState;
use crate::role::Role;
use crate::worlds::Reply;
use crate::worlds::probe::facts::ProbeFacts;

/// A question to a guest in one of its roles.
pub(super) trait Question: Send + Sync + 'static {
    type Answer: Send + 'static;

    /// The role that is asked.
    fn role(&self) -> Role;

    /// Puts into the store what the guest may look at.
    fn begin(&self, state: &mut AsyncState);

    /// Calls the guest.
    fn ask(&self, guest: &mut Guest) -> impl Future<Output = wasmtime::Result<Reply<Self::Answer>>> + Send;
}

/// An instance that was made for another role: the host never hands one out.
fn other_role<T>() -> wasmtime::Result<Reply<T>> {
    wasmtime::bail!("the instance was made for another role")
}

/// Whether it is content with its configuration.
pub(super) struct Validate(pub(super) Role);

impl Question for Validate {
    type Answer = ();

    fn role(&self) -> Role {
        self.0
    }

    fn begin(&self, _state: &mut AsyncState) {}

    async fn ask(&self, guest: &mut Guest) -> wasmtime::Result<Reply<()>> {
        match &guest.handle {
            Handle::Prober(prober) => prober.validate(&mut guest.store).await,
            Handle::Source(source) => source.validate(&mut guest.store).await,
        }
    }
}

/// Whether a probe with these parameters makes sense.
pub(super) struct CheckParameters(pub(super) Arc<str>);

impl Question for CheckParameters {
    type Answer = ();

    fn role(&self) -> Role {
        Role::Probe
    }

    fn begin(&self, _state: &mut AsyncState) {}

    async fn ask(&self, guest: &mut Guest) -> wasmtime::Result<Reply<()>> {
        match &guest.handle {
            Handle::Prober(prober) => prober.check_parameters(&mut guest.store, &self.0).await,
            Handle::Source(_) => other_role(),
        }
    }
}

/// A probe.
pub(super) struct Probe(pub(super) Arc<ProbeFacts>);

impl Question for Probe {
    type Answer = ProbeOutcome;

    fn role(&self) -> Role {
        Role::Probe
    }

    fn begin(&self, state: &mut AsyncState) {
        state.begin_probe(self.0.clone());
    }

    async fn ask(&self, guest: &mut Guest) -> wasmtime::Result<Reply<ProbeOutcome>> {
        match &guest.handle {
            Handle::Prober(prober) => prober.probe(&mut guest.store, &self.0.request.parameters).await,
            Handle::Source(_) => other_role(),
        }
    }
}

/// What a source has now.
pub(super) struct Poll(pub(super) Option<String>);

impl Question for Poll {
    type Answer = Result<PollAnswer, SourceFault>;

    fn role(&self) -> Role {
        Role::PodSource
    }

    fn begin(&self, state: &mut AsyncState) {
        state.open_network();
    }

    async fn ask(&self, guest: &mut Guest) -> wasmtime::Result<Reply<Self::Answer>> {
        match &guest.handle {
            Handle::Source(source) => source.poll(&mut guest.store, self.0.as_deref()).await,
            Handle::Prober(_) => other_role(),
        }
    }
}

/// How a source's pods fare.
pub(super) struct Statuses(pub(super) Arc<[PodStatusChange]>);

impl Question for Statuses {
    type Answer = ();

    fn role(&self) -> Role {
        Role::PodSource
    }

    fn begin(&self, state: &mut AsyncState) {
        state.open_network();
    }

    async fn ask(&self, guest: &mut Guest) -> wasmtime::Result<Reply<()>> {
        match &guest.handle {
            Handle::Source(source) => source.statuses(&mut guest.store, self.0.to_vec()).await,
            Handle::Prober(_) => other_role(),
        }
    }
}
