//! `/healthz`: the checks of upstream's, in its form.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use hyper::Uri;
use tokio::time::Instant;
use witlet_core::go;

use super::access::ServerPort;
use super::answers;
use super::health_counts::HealthCounts;
use super::query::query;

#[cfg(test)]
mod tests;

/// A check and how it went.
type Check = (&'static str, Result<(), String>);

/// Whether the event loop still moves: each second it does something at least.
pub(super) struct SyncLoop {
    silence_max: Duration,
    /// Until the loop has done something, this is what its silence counts from.
    started: Instant,
}

impl SyncLoop {
    pub(super) fn new(silence_max: Duration) -> Self {
        Self { silence_max, started: Instant::now() }
    }

    /// Why it isn't well, if it isn't, when it did something last then.
    pub(super) fn check(&self, last_event: Option<Instant>) -> Result<(), String> {
        match last_event.unwrap_or(self.started).elapsed() <= self.silence_max {
            true => Ok(()),
            false => Err("sync Loop took longer than expected".to_owned()),
        }
    }

    /// Answers `/healthz`: all checks, which are counted, or one of them.
    pub(super) fn healthz(
        &self,
        last_event: Option<Instant>,
        port: &ServerPort,
        check: Option<&str>,
        uri: &Uri,
        counts: &HealthCounts,
    ) -> Response {
        let mut checks: Vec<Check> = vec![("ping", Ok(()))];
        match port {
            ServerPort::Healthz => {}
            ServerPort::Guarded(_) | ServerPort::ReadOnly => {
                checks.push(("log", Ok(())));
                checks.push(("syncloop", self.check(last_event)));
            }
        }
        let (code, words) = match check {
            Some(name) => match checks.iter().find(|(known, _)| *known == name) {
                Some((_, Ok(()))) => return answers::text(StatusCode::OK, "ok"),
                Some((_, Err(why))) => failed(why),
                None => return answers::not_found(),
            },
            None => {
                let query = query(uri);
                let verbose = query.iter().any(|(name, _)| name == "verbose");
                let excluded = query.iter().filter(|(name, _)| name == "exclude");
                let excluded: Vec<&str> = excluded.map(|(_, value)| value.as_str()).collect();
                together(&checks, verbose, &excluded, counts)
            }
        };
        answers::nosniff(answers::text(code, words))
    }
}

fn failed(why: &str) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {why}\n"))
}

/// Why a check failed is in the agent's log only, as upstream has it. Only checks that are made together are counted.
fn together(
    checks: &[Check],
    verbose: bool,
    excluded: &[&str],
    counts: &HealthCounts,
) -> (StatusCode, String) {
    let mut words = String::new();
    let mut has_failed = false;
    for (name, result) in checks {
        if excluded.contains(name) {
            words += &format!("[+]{name} excluded: ok\n");
            continue;
        }
        counts.observe(name, result.is_ok());
        match result {
            Ok(()) => words += &format!("[+]{name} ok\n"),
            Err(why) => {
                tracing::info!(check = name, why, "Healthz check failed");
                words += &format!("[-]{name} failed: reason withheld\n");
                has_failed = true;
            }
        }
    }
    let is_known = |name: &str| checks.iter().any(|(known, _)| *known == name);
    let unknown: BTreeSet<&str> = excluded.iter().copied().filter(|name| !is_known(name)).collect();
    if !unknown.is_empty() {
        let unknown: Vec<String> = unknown.into_iter().map(go::quote).collect();
        let unknown = unknown.join(",");
        words += &format!("warn: some health checks cannot be excluded: no matches for {unknown}\n");
    }
    if has_failed {
        return (StatusCode::INTERNAL_SERVER_ERROR, words + "healthz check failed\n");
    }
    (StatusCode::OK, if verbose { words + "healthz check passed\n" } else { "ok".to_owned() })
}
