//! A private containerd for tests: its own folders, socket, network namespace and images; gone without a trace when
//! the test ends. And the `witlet` daemon as a process that tests start, kill and ask.
//!
//! Needs root and the Debian packages `containerd runc containernetworking-plugins busybox-static iproute2
//! util-linux`; real pulls need `docker-registry` too. Where it can't run, [`skip_reason`] says why, and tests report themselves as ignored; with
//! `WITLET_REQUIRE_CONTAINERD=1` they fail instead.
//!
//! `WITLET_CONTAINERD=<folder>` takes `containerd`, `containerd-shim-runc-v2`, `ctr` and `runc` from there instead of the
//! system's, as far as the folder has them. Releases from 1.6 on are configured as they want it.
//! `WITLET_CONTAINERD_SYSTEMD=1` has systemd make the cgroups, for the suite of the daemon.
#![forbid(unsafe_code)]

mod config;
mod containerd;
mod daemon;
mod image;
mod network;
mod registry;
mod release;
mod requirements;
mod shell;
mod suite;
mod sweep;

pub use containerd::{Containerd, TestClock};
pub use daemon::{Daemon, DaemonOptions};
pub use image::{ABSENT_IMAGE, BUSYBOX_IMAGE, PAUSE_IMAGE};
pub use registry::{REGISTRY_PROGRAM, Registry};
pub use requirements::{REQUIRE_VARIABLE, Skip, features_skip_reason, is_required, skip_reason};
pub use shell::{HarnessError, PROGRAMS_VARIABLE};
pub use suite::{report, run_or_ignore};
