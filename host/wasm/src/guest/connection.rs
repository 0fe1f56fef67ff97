//! Connections that the host opened for a guest.

use witlet_egress::Connection;

/// A connection in a store's table.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenConnection {
    pub(crate) connection: Connection,
    /// Of the call that it was opened in.
    pub(crate) serial: u32,
}
