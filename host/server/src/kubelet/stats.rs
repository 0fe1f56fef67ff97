//! `/stats/summary`, `/metrics/resource` and `/metrics/cadvisor`.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::Uri;
use witlet_core::stats::cadvisor::chunks;
use witlet_core::stats::exposition::{TEXT_CONTENT_TYPE, text};
use witlet_core::stats::resource_metrics::resource_metrics;
use witlet_core::stats::summary::Scope;

use super::query::query;
use super::{KubeletServer, answers, gzip};

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
        match self.stats.measurements(scope).await {
            Ok(measured) => answers::json(&measured.summary(scope)),
            Err(failed) => {
                answers::error(StatusCode::INTERNAL_SERVER_ERROR, &format!("Internal Error: {failed}"))
            }
        }
    }

    /// The metrics of cgroups, made while they are sent.
    pub(super) async fn cadvisor_metrics(&self, headers: &HeaderMap) -> Response {
        let chunks = chunks(self.stats.cgroups().await);
        let kind = (header::CONTENT_TYPE, TEXT_CONTENT_TYPE);
        if gzip::is_accepted(headers) {
            let body = Body::from_stream(futures::stream::iter(gzip::pieces(chunks)));
            return ([kind, (header::CONTENT_ENCODING, "gzip")], body).into_response();
        }
        let body = Body::from_stream(futures::stream::iter(chunks.map(Ok::<_, Infallible>)));
        ([kind], body).into_response()
    }

    /// The metrics of resources; a failure is one of them.
    pub(super) async fn resource_metrics(&self) -> Response {
        let summary = match self.stats.measurements(Scope::CpuAndMemory).await {
            Ok(measured) => Some(measured.summary(Scope::CpuAndMemory)),
            Err(error) => {
                tracing::error!(%error, "Failed to get summary stats");
                None
            }
        };
        let body = text(&resource_metrics(summary.as_ref()));
        ([(header::CONTENT_TYPE, TEXT_CONTENT_TYPE)], body).into_response()
    }
}
