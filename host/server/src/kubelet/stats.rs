//! `/stats/summary`, `/metrics/resource` and `/metrics/cadvisor`.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::Uri;
use witlet_core::stats::cadvisor::chunks;
use witlet_core::stats::exposition::{Negotiated, piece};
use witlet_core::stats::resource_metrics::resource_metrics;
use witlet_core::stats::summary::Scope;

use super::query::query;
use super::{KubeletServer, answers, gzip};
use crate::metrics::negotiated;

impl KubeletServer {
    /// The summary; what counts as a wish for CPU and memory alone is upstream's: the parameter once, and `true`.
    pub(super) async fn stats_summary(&self, uri: &Uri) -> Response {
        let query = query(uri);
        let wishes: Vec<&str> = query
            .iter()
            .filter(|(name, _)| name == "only_cpu_and_memory")
            .map(|(_, value)| value.as_str())
            .collect();
        let scope = if wishes == ["true"] { Scope::CpuAndMemory } else { Scope::All };
        match self.stats.summary(scope).await {
            Ok(written) => answers::json_bytes(written),
            Err(failed) => {
                answers::error(StatusCode::INTERNAL_SERVER_ERROR, &format!("Internal Error: {failed}"))
            }
        }
    }

    /// The metrics of cgroups.
    pub(super) async fn cadvisor_metrics(&self, headers: &HeaderMap) -> Response {
        let negotiated = negotiated(headers);
        self.streamed(headers, negotiated, chunks(self.stats.cgroups().await, negotiated.format))
    }

    /// The metrics of resources; a failure is one of them.
    pub(super) async fn resource_metrics(&self, headers: &HeaderMap) -> Response {
        let summary = match self.stats.measurements(Scope::CpuAndMemory).await {
            Ok(measured) => Some(measured.summary(Scope::CpuAndMemory)),
            Err(error) => {
                tracing::error!(%error, "Failed to get summary stats");
                None
            }
        };
        let negotiated = negotiated(headers);
        let written = piece(negotiated.format, |to| resource_metrics(to, summary.as_ref()));
        self.streamed(headers, negotiated, std::iter::once(written))
    }

    /// Families that are written while they are sent.
    fn streamed(
        &self,
        headers: &HeaderMap,
        negotiated: Negotiated,
        pieces: impl Iterator<Item = Vec<u8>> + Send + 'static,
    ) -> Response {
        let is_gzip = gzip::is_accepted(headers);
        let kind = [(header::CONTENT_TYPE, negotiated.content_type())];
        let mut response = (kind, self.gzip.streamed(pieces, is_gzip)).into_response();
        if is_gzip {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}
