//! Probe type `httpGet`: a GET is answered with a status from 200 to 399 (upstream's `pkg/probe/http`).
//!
//! Parameters are the spec's `httpGet` object with the port as a number: `{"path": "/healthz", "port": 8080}`. Redirects
//! are followed on the same host only; one to another host is a warning. Over HTTPS it takes any certificate, which needs
//! the grant `tls: insecure`.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod redirect;
mod target;

use serde::Deserialize;
use witlet_plugin_sdk::http::{self, Response};
use witlet_plugin_sdk::probe::{Outcome, ProbeType};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe, probe};

use redirect::redirect;
use target::Target;

/// So many redirects are followed (upstream: Go's default).
const REDIRECTS_MAX: usize = 10;

/// So much of a body is shown (upstream: `maxRespBodyLength`).
const BODY_BYTES_MAX: usize = 10 * 1024;

/// The probe type.
pub struct HttpGet;

/// What stands under `httpGet:` in the spec.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing or empty.
    pub host: Option<String>,
    /// Headers in their order; names may come up more than once.
    pub http_headers: Option<Vec<Header>>,
    /// Path and query; `/` if it is missing.
    pub path: Option<String>,
    /// The port, 1 to 65535.
    pub port: i64,
    /// `HTTP` (the default) or `HTTPS`.
    pub scheme: Option<String>,
}

/// A header of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
}

impl ProbeType for HttpGet {
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        // With a host of its own for the one that may be missing: the pod has none yet.
        Target::of(parameters, "pod").map(|_| ())
    }

    fn probe(target: &probe::Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let deadline = target.deadline();
        let host = target.host_or_pod_ip(parameters.host.as_deref())?;
        let target = Target::of(parameters, &host)?;
        let url = target.to_string();
        let mut answer = match fetch(target, target::headers(parameters), deadline) {
            Ok(answer) => answer,
            Err(failure) => return Ok(Outcome::Failure(format!("Get {url:?}: {failure}"))),
        };
        let status = answer.status();
        // A server that begins to answer well and then breaks off or dawdles can't be judged, as upstream has it.
        let body = answer.beginning(BODY_BYTES_MAX, deadline)?;
        Ok(judge(status, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// What a status says.
fn judge(status: u16, body: String) -> Outcome {
    match status {
        200..=299 => Outcome::Success(body),
        300..=399 => Outcome::Warning(format!("Probe terminated redirects, Response body: {body}")),
        _ => Outcome::Failure(format!("HTTP probe failed with statuscode: {status}")),
    }
}

/// Asks, and asks again where a redirect to the same host leads. A failure is reported in Go's words.
fn fetch(
    mut target: Target,
    mut headers: Vec<(String, String)>,
    deadline: Deadline,
) -> Result<Response, String> {
    for _ in 0..REDIRECTS_MAX {
        let request = target.request(headers.clone());
        let answer = http::send(&request, deadline).map_err(|error| error.to_string())?;
        if !matches!(answer.status(), 301 | 302 | 303 | 307 | 308) {
            return Ok(answer);
        }
        let Some(location) = answer.header("location") else { return Ok(answer) };
        let next = redirect(&target, &location)
            .ok_or_else(|| format!("failed to parse Location header {location:?}"))?;
        if next.target.host != target.host {
            return Ok(answer);
        }
        if next.names_host {
            headers.retain(|(name, _)| name != "Host");
        }
        target = next.target;
    }
    Err(format!("stopped after {REDIRECTS_MAX} redirects"))
}

export_probe!(HttpGet);

#[cfg(test)]
mod tests;
