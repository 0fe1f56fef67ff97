//! `/stats/summary`, `/metrics/resource` and `/metrics/cadvisor`.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::Request;
use hyper::body::Incoming;
use witlet_core::stats::cadvisor::chunks;
use witlet_core::stats::exposition::piece;
use witlet_core::stats::resource_metrics::resource_metrics;
use witlet_core::stats::summary::Scope;

use super::form::form;
use super::gzip::{Measured, Shown};
use super::{KubeletServer, answers, gzip};
use crate::metrics::negotiated;

impl KubeletServer {
    /// The summary; what counts as a wish for CPU and memory alone is upstream's: the parameter once, and `true`.
    pub(super) async fn stats_summary(&self, request: Request<Incoming>) -> Response {
        let internal = |failed: String| {
            answers::text(StatusCode::INTERNAL_SERVER_ERROR, format!("Internal Error: {failed}"))
        };
        let headers = request.headers().clone();
        let parameters = match form(request).await {
            Ok(parameters) => parameters,
            Err(failed) => return internal(format!("parse form failed: {failed}")),
        };
        let named = parameters.iter().filter(|(name, _)| name == "only_cpu_and_memory");
        let wishes: Vec<&str> = named.map(|(_, value)| value.as_str()).collect();
        let scope = if wishes == ["true"] { Scope::CpuAndMemory } else { Scope::All };
        let (measured, written) = match self.stats.summary(scope).await {
            Ok(summary) => summary,
            Err(failed) => return internal(failed.to_string()),
        };
        if !gzip::is_accepted(&headers) {
            return answers::json_bytes(written);
        }
        let measured: Measured = measured;
        let plain = move || std::iter::once(Vec::from(written));
        compressed(answers::json_bytes(self.gzip.streamed_as_gzip(Shown::Summary(scope), &measured, plain)))
    }

    /// The metrics of cgroups.
    pub(super) async fn cadvisor_metrics(&self, headers: &HeaderMap) -> Response {
        let format = negotiated(headers).format;
        let scrape = self.stats.cgroups().await;
        let measured: Measured = scrape.clone();
        self.streamed(headers, Shown::Cgroups(format), &measured, move || chunks(scrape, format))
    }

    /// The metrics of resources; a failure is one of them.
    pub(super) async fn resource_metrics(&self, headers: &HeaderMap) -> Response {
        let measured = match self.stats.measurements(Scope::CpuAndMemory).await {
            Ok(measured) => Some(measured),
            Err(error) => {
                tracing::error!(%error, "Failed to get summary stats");
                None
            }
        };
        let format = negotiated(headers).format;
        let of: Measured = match &measured {
            Some(measured) => measured.clone(),
            None => Arc::new(()),
        };
        let write = move || {
            let summary = measured.map(|measured| measured.summary(Scope::CpuAndMemory));
            piece(format, |to| resource_metrics(to, summary.as_ref()))
        };
        self.streamed(headers, Shown::Resources(format), &of, move || std::iter::once_with(write))
    }

    /// Families that are written while they are sent.
    fn streamed<P>(
        &self,
        headers: &HeaderMap,
        shown: Shown,
        measured: &Measured,
        pieces: impl FnOnce() -> P + Send + 'static,
    ) -> Response
    where
        P: Iterator<Item = Vec<u8>> + Send + 'static,
    {
        let kind = [(header::CONTENT_TYPE, negotiated(headers).content_type())];
        let respond = |body: Body| (kind, body).into_response();
        if gzip::is_accepted(headers) {
            compressed(respond(self.gzip.streamed_as_gzip(shown, measured, pieces)))
        } else {
            respond(self.gzip.streamed(pieces()))
        }
    }
}

fn compressed(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
}
