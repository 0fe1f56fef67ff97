//! What is counted of reviews, as a kubelet counts them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{Counters, DEFAULT_BUCKETS, Histograms, MetricsSource};

/// Upper bounds in seconds (upstream: `apiserver_delegated_authn_request_duration_seconds`).
const REVIEW_BUCKETS: &[f64] = &[0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0];
/// The code of a try that has no answer.
const NO_ANSWER: &str = "<error>";

/// All of it.
#[derive(Debug)]
pub(super) struct AccessMetrics {
    pub(super) reviews: ReviewMetrics,
    /// Reviews of what users may do.
    pub(super) permissions: ReviewMetrics,
    /// What is known of tokens.
    pub(super) cache: TokenMetrics,
}

impl Default for AccessMetrics {
    fn default() -> Self {
        Self {
            reviews: ReviewMetrics {
                tries: Counters::new(
                    "apiserver_delegated_authn_request_total",
                    "[ALPHA] Number of HTTP requests partitioned by status code.",
                    ["code"],
                ),
                durations: Histograms::new(
                    "apiserver_delegated_authn_request_duration_seconds",
                    "[ALPHA] Request latency in seconds. Broken down by status code.",
                    ["code"],
                    REVIEW_BUCKETS,
                ),
            },
            permissions: ReviewMetrics {
                tries: Counters::new(
                    "apiserver_delegated_authz_request_total",
                    "[ALPHA] Number of HTTP requests partitioned by status code.",
                    ["code"],
                ),
                durations: Histograms::new(
                    "apiserver_delegated_authz_request_duration_seconds",
                    "[ALPHA] Request latency in seconds. Broken down by status code.",
                    ["code"],
                    REVIEW_BUCKETS,
                ),
            },
            cache: TokenMetrics::default(),
        }
    }
}

impl MetricsSource for AccessMetrics {
    fn write(&self, to: &mut Exposition) {
        let Self { reviews, permissions, cache } = self;
        let families: [&dyn MetricsSource; 7] = [
            &reviews.durations,
            &reviews.tries,
            &permissions.durations,
            &permissions.tries,
            &cache.fetches,
            &cache.durations,
            &cache.requests,
        ];
        families.into_iter().for_each(|family| family.write(to));
        let help = "[ALPHA] ";
        let mut family = to.family("authentication_token_cache_active_fetch_count", help, Kind::Gauge);
        if !cache.has_waited.load(Ordering::Relaxed) {
            return;
        }
        for (status, count) in [("blocked", &cache.blocked), ("in_flight", &cache.in_flight)] {
            family.sample(&[("status", status)], count.load(Ordering::Relaxed) as f64);
        }
    }
}

/// Reviews of one kind.
#[derive(Debug)]
pub(super) struct ReviewMetrics {
    tries: Counters<1>,
    durations: Histograms<1>,
}

impl ReviewMetrics {
    /// A try of a review ended with this code; none without an answer.
    pub(super) fn tried(&self, code: Option<u16>, took: Duration) {
        let code = code.map_or_else(|| NO_ANSWER.to_owned(), |code| code.to_string());
        self.tries.add([&code]);
        self.durations.observe_duration([&code], took);
    }
}

/// Questions about tokens.
#[derive(Debug)]
pub(super) struct TokenMetrics {
    requests: Counters<1>,
    durations: Histograms<1>,
    fetches: Counters<1>,
    in_flight: AtomicU64,
    blocked: AtomicU64,
    /// Whether a request ever waited: before, a kubelet has no count of them.
    has_waited: AtomicBool,
}

impl Default for TokenMetrics {
    fn default() -> Self {
        Self {
            requests: Counters::new("authentication_token_cache_request_total", "[ALPHA] ", ["status"]),
            durations: Histograms::new(
                "authentication_token_cache_request_duration_seconds",
                "[ALPHA] ",
                ["status"],
                DEFAULT_BUCKETS,
            ),
            fetches: Counters::new("authentication_token_cache_fetch_total", "[ALPHA] ", ["status"]),
            in_flight: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
            has_waited: AtomicBool::new(false),
        }
    }
}

impl TokenMetrics {
    /// A request waits for an answer about a token until this is dropped.
    pub(super) fn waiting(&self) -> Counted<'_> {
        self.has_waited.store(true, Ordering::Relaxed);
        Counted::of(&self.blocked)
    }

    /// A token is being reviewed until this is dropped.
    pub(super) fn fetching(&self) -> Counted<'_> {
        Counted::of(&self.in_flight)
    }

    /// A review of a token ended, with an answer or without.
    pub(super) fn fetched(&self, is_answered: bool) {
        self.fetches.add([if is_answered { "ok" } else { "error" }]);
    }

    /// A question about a token was answered by what was known, or by a review.
    pub(super) fn requested(&self, was_known: bool, took: Duration) {
        let status = if was_known { "hit" } else { "miss" };
        self.requests.add([status]);
        self.durations.observe_duration([status], took);
    }
}

/// Counts as one until it is dropped.
pub(super) struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn of(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
