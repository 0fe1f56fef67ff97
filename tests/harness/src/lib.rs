//! What tests with processes are made of: the `witlet` daemon, a private containerd, a registry, a small API server, clients of
//! streams. Each has its own folders, sockets and addresses, is waited for by its state, and is ended by its process id.
//!
//! | Module | |
//! |---|---|
//! | [`program`] | the programs of this build, and the code of components that all suites share |
//! | [`Daemon`] | a `witlet` process: started, killed, asked, its log shown when something fails |
//! | [`Containerd`], [`Registry`] | a private containerd and registry |
//! | [`LocalRegistry`] | a registry in memory, without containerd |
//! | [`node`] | a daemon on the embedded runtime or on containerd, as a world of `witlet_testkit`'s scenarios |
//! | [`fake_node`] | a daemon on a runtime that answers at once, with plugins that report their calls |
//! | [`cluster`] | a daemon that is a node of a small API server |
//! | [`cgroups`] | the cgroup that a daemon's pods are in, for each runtime one |
//! | [`streams`] | clients of exec, attach and port-forward, and kubectl |
//! | [`terminal`] | a terminal to run a program in |
//! | [`usage`] | what a process takes of the machine |
//!
//! containerd: its own folders, socket, network namespace and images; gone without a trace when the test ends.
//!
//! Needs root and the Debian packages `containerd runc containernetworking-plugins busybox-static iproute2
//! util-linux`; real pulls need `docker-registry` too. Where it can't run, [`skip_reason`] says why, and tests report themselves as ignored; with
//! `WITLET_REQUIRE_CONTAINERD=1` they fail instead.
//!
//! `WITLET_CONTAINERD=<folder>` takes `containerd`, `containerd-shim-runc-v2`, `ctr` and `runc` from there instead of the
//! system's, as far as the folder has them. Releases from 1.6 on are configured as they want it.
//! `WITLET_CONTAINERD_SYSTEMD=1` has systemd make the cgroups, for the suite of the daemon.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "fields and methods of tests say by their names what they are")]

pub mod cgroups;
pub mod cluster;
mod config;
mod containerd;
mod daemon;
pub mod fake_node;
mod image;
mod local_registry;
mod network;
pub mod node;
pub mod program;
mod programs;
mod registry;
mod release;
mod requirements;
mod shell;
pub mod streams;
mod suite;
mod sweep;
pub mod terminal;
pub mod tunables;
pub mod usage;
mod wait;

pub use config::asks_for_systemd;
pub use containerd::{Containerd, TestClock};
pub use daemon::{Daemon, DaemonOptions};
pub use image::{ABSENT_IMAGE, BUSYBOX_IMAGE, PAUSE_IMAGE};
pub use local_registry::LocalRegistry;
pub use registry::{REGISTRY_PROGRAM, Registry};
pub use requirements::{
    REQUIRE_VARIABLE, Skip, features_skip_reason, is_required, pins_skip_reason, skip_reason,
};
pub use shell::{HarnessError, PROGRAMS_VARIABLE};
pub use suite::{report, run_or_ignore};
pub use wait::poll_until;

use std::time::Duration;

/// How long tests wait for a state before they fail. It only catches what hangs, so it is the same everywhere and far longer than
/// anything takes, also on a busy machine.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(300);
