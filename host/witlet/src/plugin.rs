//! `witlet plugin`: what plugins do on this node, what is in a component, recorded calls once more, versions compared by them, handlers tried on manifests and
//! on the pods of a daemon, and handlers as a webhook.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod component;
pub(crate) mod diff;
mod entry;
pub(crate) mod eval;
pub(crate) mod features;
pub(crate) mod fixed_node;
pub(crate) mod list;
pub(crate) mod manifest;
pub(crate) mod new;
mod project;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod push_set;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sign;
pub(crate) mod test;
pub(crate) mod upgrade;
mod whole;
