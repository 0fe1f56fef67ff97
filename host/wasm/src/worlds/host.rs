//! What every plugin may import (`witlet:host`), for the guests of both engines.

pub(crate) mod v0_1_0;

use crate::guest::log::GuestLog;
use crate::guest::secrets::GrantedSecrets;

/// What a guest's store has for it.
pub(crate) struct HostView<'a> {
    pub(crate) log: &'a GuestLog,
    /// As JSON text.
    pub(crate) config: &'a str,
    pub(crate) secrets: &'a GrantedSecrets,
}
