//! Lifecycle hooks: what `postStart` and `preStop` do.

use crate::probe::Scheme;

/// The request of an `httpGet` hook, with every reference resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpHook {
    /// `http` or `https`; certificates aren't verified.
    pub scheme: Scheme,
    /// Address or name.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path with the query.
    pub path: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
}
