//! What stands around a plugin while it is examined: addresses, servers, folders, and a runtime that runs commands.

pub(crate) mod address;
pub(crate) mod bytes;
pub(crate) mod commands;
pub(crate) mod folders;
pub(crate) mod servers;
pub(crate) mod tls;
