//! `witlet plugin`: what plugins do on this node, what is in a component, and recorded calls once more.

pub(crate) mod list;
pub(crate) mod replay;
