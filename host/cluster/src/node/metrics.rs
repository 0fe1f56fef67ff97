//! How long the node took until it was ready, for monitoring.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use witlet_core::node::startup::{NodeStartup, StartupSeconds};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::MetricsSource;

/// The steps of the node's start.
#[derive(Clone, Debug, Default)]
pub(super) struct StartupMetrics(Arc<Mutex<NodeStartup>>);

impl StartupMetrics {
    pub(super) fn new(booted: Option<Timestamp>, started: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(NodeStartup::new(booted, started))))
    }

    pub(super) fn note(&self, step: impl FnOnce(&mut NodeStartup)) {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A plain figure of upstream's shows 0 until it is known.
impl MetricsSource for StartupMetrics {
    fn write(&self, to: &mut Exposition) {
        let seconds = self.0.lock().unwrap_or_else(PoisonError::into_inner).seconds();
        let StartupSeconds { pre_kubelet, pre_registration, registration, post_registration, all } = seconds;
        for (name, help, value) in [
            (
                "kubelet_node_startup_pre_kubelet_duration_seconds",
                "[ALPHA] Duration in seconds of node startup before kubelet starts.",
                pre_kubelet,
            ),
            (
                "kubelet_node_startup_pre_registration_duration_seconds",
                "[ALPHA] Duration in seconds of node startup before registration.",
                pre_registration,
            ),
            (
                "kubelet_node_startup_registration_duration_seconds",
                "[ALPHA] Duration in seconds of node startup during registration.",
                registration,
            ),
            (
                "kubelet_node_startup_post_registration_duration_seconds",
                "[ALPHA] Duration in seconds of node startup after registration.",
                post_registration,
            ),
            (
                "kubelet_node_startup_duration_seconds",
                "[ALPHA] Duration in seconds of node startup in total.",
                all,
            ),
        ] {
            to.gauge(name, help, value.unwrap_or(0.0));
        }
    }
}
