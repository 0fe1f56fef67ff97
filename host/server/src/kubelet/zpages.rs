//! `/flagz` and `/statusz`: what the process was started with and how it is, as text or as an object of `config.k8s.io`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{EndpointSwitches, KubeletServer, answers};
use accept::{Encoding, Form, Version, negotiate};

mod accept;
#[cfg(test)]
mod tests;

/// What upstream's pages begin with.
const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
guarantees and is for debugging purposes only.";

/// The first parts of paths that upstream lists: those outside its web services. Logs are one of these where there is no route to them.
fn paths(switches: &EndpointSwitches) -> Vec<&'static str> {
    let all = [
        ("/configz", true),
        ("/debug", true),
        ("/flagz", switches.flagz),
        ("/healthz", true),
        ("/logs", !switches.system_logs),
        ("/metrics", true),
    ];
    all.into_iter().filter_map(|(path, is_listed)| is_listed.then_some(path)).collect()
}

impl KubeletServer {
    pub(super) fn flagz(&self, headers: &HeaderMap) -> Response {
        let flags = &self.parts.diagnostics.flags;
        page("Flagz", headers, || flags_text(flags), || Map::from_iter([("flags".to_owned(), json!(flags))]))
    }

    pub(super) fn statusz(&self, headers: &HeaderMap) -> Response {
        let status = ProcessStatus {
            started: self.started,
            now: self.parts.clock.now(),
            version: &self.parts.diagnostics.kubernetes_version,
            paths: paths(&self.parts.options.switches),
        };
        page("Statusz", headers, || status.text(), || status.fields())
    }
}

/// What `/statusz` shows.
struct ProcessStatus<'a> {
    started: Timestamp,
    now: Timestamp,
    version: &'a str,
    paths: Vec<&'static str>,
}

impl ProcessStatus<'_> {
    fn uptime_seconds(&self) -> i64 {
        self.now.as_second().saturating_sub(self.started.as_second()).max(0)
    }

    /// The version of Kubernetes' API: its first two numbers.
    fn emulation_version(&self) -> &str {
        let second = self.version.match_indices('.').nth(1);
        second.map_or(self.version, |(at, _)| &self.version[..at])
    }

    fn text(&self) -> String {
        let up = self.uptime_seconds();
        let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
        format!(
            "\nStarted: {}\nUp: {hours} hr {minutes:02} min {seconds:02} sec\nGo version: \nBinary version: {}\n\
             Emulation version: {}\nPaths: {}\n",
            self.started.strftime("%a %b %e %H:%M:%S UTC %Y"),
            self.version,
            self.emulation_version(),
            self.paths.join(" "),
        )
    }

    fn fields(&self) -> Map<String, Value> {
        let started = Timestamp::from_second(self.started.as_second()).unwrap_or_default();
        let fields = [
            ("startTime", json!(started.to_string())),
            ("uptimeSeconds", json!(self.uptime_seconds())),
            // There is no Go in this program; upstream's field has to be there.
            ("goVersion", json!("")),
            ("binaryVersion", json!(self.version)),
            ("emulationVersion", json!(self.emulation_version())),
            ("paths", json!(self.paths)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn flags_text(flags: &BTreeMap<String, String>) -> String {
    flags.iter().fold(String::new(), |mut text, (name, value)| {
        // A value that has lines would forge flags. Writing to a text can't fail.
        let _ = writeln!(text, "{name}={}", value.replace(['\n', '\r'], " "));
        text
    })
}

/// A page in the form that the client accepts.
fn page(
    kind: &str,
    headers: &HeaderMap,
    text: impl FnOnce() -> String,
    fields: impl FnOnce() -> Map<String, Value>,
) -> Response {
    let accept = headers.get(header::ACCEPT).map_or("", |value| value.to_str().unwrap_or_default());
    let name = kind.to_lowercase();
    let (version, encoding) = match negotiate(accept, kind) {
        None => return not_acceptable(),
        Some(Form::Text) => return format!("\nkubelet {name}\n{WARNING}\n{}", text()).into_response(),
        Some(Form::Object(version, encoding)) => (version, encoding),
    };
    let mut object = fields();
    object.insert("kind".to_owned(), json!(kind));
    object.insert("apiVersion".to_owned(), json!(format!("{}/{}", accept::GROUP, version.name())));
    object.insert("metadata".to_owned(), json!({"name": "kubelet"}));
    let mut answer = encoded(&Value::Object(object), encoding);
    let form = format!("{};g={};v={};as={kind}", encoding.media_type(), accept::GROUP, version.name());
    if answer.status().is_success()
        && let Ok(form) = HeaderValue::from_str(&form)
    {
        answer.headers_mut().insert(header::CONTENT_TYPE, form);
    }
    let words =
        format!("299 - \"This version of the {name} endpoint is deprecated. Please use a newer version.\"");
    if version == Version::V1Alpha1
        && let Ok(words) = HeaderValue::from_str(&words)
    {
        answer.headers_mut().insert(header::WARNING, words);
    }
    answer
}

fn encoded(object: &Value, encoding: Encoding) -> Response {
    match encoding {
        Encoding::Json => answers::json_bytes(format!("{object}\n").into_bytes()),
        Encoding::Yaml => match serde_saphyr::to_string(object) {
            Ok(text) => text.into_response(),
            Err(error) => answers::error(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        },
    }
}

fn not_acceptable() -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "only the following media types are accepted: application/json, application/yaml, text/plain",
        "reason": "NotAcceptable", "code": 406,
    });
    let mut answer = answers::json_bytes(format!("{status}\n").into_bytes());
    *answer.status_mut() = StatusCode::NOT_ACCEPTABLE;
    answer
}
