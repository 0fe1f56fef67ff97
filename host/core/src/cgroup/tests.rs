//! Upstream's tables of cgroups, and our own of writes and of a sync's action.

mod configs;
mod memory;
mod names;
mod sync;
mod systemd;
mod tiers;
mod writing;
