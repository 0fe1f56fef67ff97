//! The role of an admission handler, whatever version of the contract it was built against.

pub(crate) mod answer;
pub(crate) mod facts;
mod handles;
#[cfg(feature = "next-version")]
#[path = "../../../../tests/guests/next-version/adapters/admission/adapter.rs"]
mod next_version;
mod refusal;
pub(crate) mod setup;
mod v0_1_0;
mod v0_2_0;
mod values;

use wasmtime::Store;
use wasmtime::component::Linker;
use witlet_core::admission::{Operation, Verdict};

use answer::Remarks;
use setup::Setup;

pub(crate) use super::Reply;
use super::{adapter, host};
use crate::guest::GuestState;

/// The interface whose export makes a component an admission handler, without its version.
pub(crate) const HANDLER: &str = "witlet:admission/handler";
/// The versions of the contract that this host serves.
pub(crate) const VERSIONS: &[&str] = &adapter::versions::<{ ADAPTERS.len() }, _, _>(ADAPTERS);
/// The interfaces with the types of these versions, each with its version.
pub(crate) const TYPES: &[(&str, &str)] = &adapter::types::<{ ADAPTERS.len() }, _, _>(ADAPTERS);

/// One for each track.
const ADAPTERS: &[Adapter] = &[
    v0_1_0::ADAPTER,
    v0_2_0::ADAPTER,
    #[cfg(feature = "next-version")]
    next_version::ADAPTER,
];

/// Longest reason that a handler may give: the longest CamelCase words of Kubernetes have a third of it.
pub(crate) const REASON_BYTES_MAX: usize = 128;
/// Longest message that a handler may give; upstream cuts pod status messages at about as much.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// What handlers of contracts without subscriptions are asked about, those that ship among them.
pub(crate) const UNSUBSCRIBED: &[Operation] = &[Operation::Add, Operation::Resize];

/// A reply to a question, and what stands next to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) reply: Reply<Verdict>,
    pub(crate) remarks: Remarks,
}

impl From<Reply<Verdict>> for Answered {
    fn from(reply: Reply<Verdict>) -> Self {
        Self { reply, remarks: Remarks::default() }
    }
}

/// Serves handlers of one track.
pub(crate) type Adapter = adapter::Adapter<GuestState, dyn HandlerPre>;

/// A handler that is linked and type-checked.
pub(crate) trait HandlerPre: Send + Sync {
    fn instantiate(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Box<dyn Handler>>;
}

/// A handler that is instantiated.
pub(crate) trait Handler: Send {
    /// Asks whether it accepts its configuration, and about what it is to be asked.
    fn validate(&self, store: &mut Store<GuestState>, config: &str) -> wasmtime::Result<Reply<Setup>>;

    /// Asks about the request that the store holds.
    fn admit(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Answered>;
}

/// Adds everything that handlers of any version may import from this host.
pub(crate) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    host::add_to_linker(linker, GuestState::host)?;
    ADAPTERS.iter().try_for_each(|adapter| (adapter.add_to_linker)(linker))
}

/// Returns the adapter that serves handlers built against `version`.
pub(crate) fn serving(version: &str) -> Option<&'static Adapter> {
    adapter::serving(ADAPTERS, version)
}
