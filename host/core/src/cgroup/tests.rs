//! Upstream's tables of cgroups, and our own of writes and of a sync's action.

mod configs;
mod names;
mod sync;
mod tiers;
mod writing;
