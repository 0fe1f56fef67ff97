//! Probe type `http-json`: a GET is answered with JSON in which a value is what it should be.
//!
//! Parameters are those of `httpGet`, and also which status is good (200 to 299 if nothing is said), where the value
//! stands (a JSON pointer, RFC 6901) and what it should be:
//!
//! ```json
//! {"path": "/health", "port": 8080, "pointer": "/queue/depth", "max": 1000}
//! {"path": "/health", "port": 8080, "pointer": "/status", "oneOf": ["up", "degraded"], "status": [200, 503]}
//! ```
//!
//! Or an expression in CEL says so, over `status`, `headers`, `body` and `latency`:
//!
//! ```json
//! {"path": "/health", "port": 8080, "expression": "status == 200 && body.queue.depth < 1000 && latency < duration('250ms')"}
//! ```
//!
//! Redirects aren't followed.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod expectation;
mod rule;

use std::cell::OnceCell;

use serde::Deserialize;
use serde_json::{Number, Value};
use witlet_cel::Program;
use witlet_http_target::{Scheme, USER_AGENT, headers, host_port, port_number, request_path, scheme};
use witlet_plugin_sdk::http::{self, Request};
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe};

use rule::HttpResponse;

/// A body with more isn't read: whatever JSON it is, the component has the memory for it.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// The probe type.
pub struct HttpJson;

/// The probe's `parameters:`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing.
    pub host: Option<String>,
    /// Headers in addition to the default ones.
    #[serde(default)]
    pub http_headers: Vec<Header>,
    /// Path and query; `/` if it is missing.
    pub path: Option<String>,
    /// The port, 1 to 65535.
    pub port: i64,
    /// `HTTP` (the default) or `HTTPS`. Certificates are verified unless the plugin has the grant `tls: insecure`.
    pub scheme: Option<String>,
    /// Statuses that are good; 200 to 299 if there are none.
    #[serde(default)]
    pub status: Vec<u16>,
    /// Where the value stands; empty for the whole answer.
    pub pointer: Option<String>,
    /// The value is this one. `null` is asked for by `oneOf: [null]`.
    pub equals: Option<Value>,
    /// The value is one of these.
    pub one_of: Option<Vec<Value>>,
    /// The value is a number, at least this one.
    pub min: Option<Number>,
    /// The value is a number, at most this one.
    pub max: Option<Number>,
    /// What must be true of the answer, instead of pointer and value.
    pub expression: Option<String>,
}

/// A header of the request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl ProbeType for HttpJson {
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        request(parameters, "pod")?;
        match rule::of(parameters)? {
            Some(rule) => rule::check(&rule),
            None => expectation::check(parameters),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let host = target.host_or_pod_ip(parameters.host.as_deref())?;
        let request = request(parameters, &host)?;
        let rule = rule::of(parameters)?;
        Ok(match ask(&request, parameters, rule.as_ref(), target.deadline()) {
            Ok(value) => Outcome::Success(value),
            Err(words) => Outcome::Failure(words),
        })
    }
}

/// The value that is as it should be; an error is why it isn't.
fn ask(
    request: &Request,
    parameters: &Parameters,
    rule: Option<&Program>,
    deadline: Deadline,
) -> Result<String, String> {
    let words = |error: http::Error| format!("Get \"{}\": {error}", url(request));
    let left = deadline.left();
    let mut answer = http::send(request, deadline).map_err(words)?;
    let status = answer.status();
    let good = match parameters.status.as_slice() {
        // A rule about the status says itself which are good.
        [] => (200..=299).contains(&status) || rule.is_some_and(|rule| rule.refers_to("status")),
        statuses => statuses.contains(&status),
    };
    if !good {
        return Err(format!("HTTP probe failed with statuscode: {status}"));
    }
    if let Some(rule) = rule {
        let body = rule.refers_to("body").then(|| answer.whole_body(BODY_BYTES_MAX, deadline));
        let body = body.transpose().map_err(words)?;
        let latency = left.saturating_sub(deadline.left());
        let (headers, parsed, joined) = (answer.headers(), OnceCell::new(), OnceCell::new());
        return rule::judge(rule, &HttpResponse { status, headers, body, latency, parsed, joined });
    }
    let body = answer.whole_body(BODY_BYTES_MAX, deadline).map_err(words)?;
    let answer: Value =
        serde_json::from_slice(&body).map_err(|error| format!("the answer is no JSON: {error}"))?;
    expectation::judge(parameters, &answer)
}

fn request(parameters: &Parameters, host: &str) -> Result<Request, Error> {
    let invalid =
        |field: &str, error: witlet_http_target::TargetError| Error::invalid(field, error.to_string());
    let scheme = match scheme(parameters.scheme.as_deref()).map_err(|error| invalid("scheme", error))? {
        Scheme::Http => http::Scheme::Http,
        Scheme::Https => http::Scheme::Https,
    };
    let port = port_number(parameters.port).map_err(|error| invalid("port", error))?;
    let given: Vec<(&str, &str)> =
        parameters.http_headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
    Ok(Request {
        method: "GET".to_owned(),
        scheme,
        authority: host_port(host, port),
        path: request_path(parameters.path.as_deref().unwrap_or_default()),
        headers: headers(&given, USER_AGENT),
        body: Vec::new(),
    })
}

fn url(request: &Request) -> String {
    let scheme = match request.scheme {
        http::Scheme::Http => "http",
        http::Scheme::Https => "https",
    };
    format!("{scheme}://{}{}", request.authority, request.path)
}

export_probe!(HttpJson);

#[cfg(test)]
mod tests;
