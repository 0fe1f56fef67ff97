//! Upstream's tables of cgroups, and our own of writes and of a sync's action.

mod memory;
mod names;
mod resources;
mod sync;
mod systemd;
mod tiers;
mod writing;
