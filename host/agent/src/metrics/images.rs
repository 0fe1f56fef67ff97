//! What is counted of images, a family in each row.

use std::time::Duration;

use witlet_core::image::{PullPolicy, size_class};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Counters, Histograms, MetricsSource};

/// Upper bounds in seconds for pulls (upstream: `imagePullDurationBuckets`).
const PULL_BUCKETS: &[f64] = &[
    1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0, 360.0, 480.0, 600.0, 900.0, 1200.0, 1800.0,
    2700.0, 3600.0,
];

/// Counts what is done for images.
pub(crate) struct ImageMetrics {
    requests: Counters<3>,
    checks: Counters<1>,
    pulls: Histograms<1>,
}

impl Default for ImageMetrics {
    fn default() -> Self {
        Self {
            requests: Counters::new(
                "kubelet_image_manager_ensure_image_requests_total",
                "[ALPHA] Number of ensure-image requests processed by the kubelet.",
                ["present_locally", "pull_policy", "pull_required"],
            ),
            checks: Counters::new(
                "kubelet_imagemanager_image_mustpull_checks_total",
                "[ALPHA] Counter for how many times kubelet checked whether credentials need to be \
                 re-verified to access an image",
                ["result"],
            ),
            pulls: Histograms::new(
                "kubelet_image_pull_duration_seconds",
                "[ALPHA] Duration in seconds to pull an image.",
                ["image_size_in_bytes"],
                PULL_BUCKETS,
            ),
        }
    }
}

impl MetricsSource for ImageMetrics {
    fn write(&self, to: &mut Exposition) {
        self.requests.write(to);
        self.checks.write(to);
        self.pulls.write(to);
    }
}

/// Whether a pod may use an image that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessCheck {
    /// The policy asks for no proof.
    PolicyAllowed,
    /// A record says so.
    RecordFound,
    /// Only after a pull.
    MustAuthenticate,
    /// The records can't be read: only after a pull.
    Error,
}

impl AccessCheck {
    /// Only after a pull.
    pub(crate) fn must_pull(self) -> bool {
        matches!(self, Self::MustAuthenticate | Self::Error)
    }

    /// Upstream's word.
    fn as_str(self) -> &'static str {
        match self {
            Self::PolicyAllowed => "credentialPolicyAllowed",
            Self::RecordFound => "credentialRecordFound",
            Self::MustAuthenticate => "mustAuthenticate",
            Self::Error => "error",
        }
    }
}

impl ImageMetrics {
    /// A container needs an image. Whether it is there, and has to be pulled, isn't always checked.
    pub(crate) fn needed(&self, policy: PullPolicy, is_present: Option<bool>, must_pull: Option<bool>) {
        let policy = match policy {
            PullPolicy::Always => "always",
            PullPolicy::IfNotPresent => "ifnotpresent",
            PullPolicy::Never => "never",
        };
        self.requests.add([word(is_present), policy, word(must_pull)]);
    }

    /// Whether a pod may use an image was checked.
    pub(crate) fn checked(&self, check: AccessCheck) {
        self.checks.add([check.as_str()]);
    }

    /// An image of so many bytes was pulled.
    pub(crate) fn pulled(&self, bytes: u64, took: Duration) {
        self.pulls.observe_duration([size_class(bytes)], took);
    }
}

fn word(known: Option<bool>) -> &'static str {
    match known {
        Some(true) => "true",
        Some(false) => "false",
        None => "unknown",
    }
}
