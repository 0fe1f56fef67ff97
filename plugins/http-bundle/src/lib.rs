//! Pod source `http-bundle`: the pods of a node in one file on a web server, signed if the operator wants it.
//!
//! ```yaml
//! - name: fleet
//!   component: builtin:http-bundle
//!   podSource: {interval: 30s, allow: {namespaces: [fleet]}}
//!   grants: {network: ["pods.example.com:443"], files: [{path: /etc/witlet/fleet, guestPath: /fleet}], state: true}
//!   config:
//!     url: https://pods.example.com/nodes/n1.yaml
//!     headerFiles: {Authorization: /fleet/token}
//!     publicKeys: ["gKtuukMivf0NutGW8B385DCk+Jugcu/n5WvQz1t3aYU="]
//! ```
//!
//! What a bundle looks like is in `bundle`, how it is signed in `signature`. It is asked for with the last answer's ETag, so
//! that a server has little to do while nothing changes. An answer without any bytes is an error: to have no pods, a bundle
//! says so with an empty list.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod bundle;
mod signature;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use witlet_plugin_sdk::http::{Request, Response, send};
use witlet_plugin_sdk::source::{PodSource, Poll, SourceError};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_pod_source};

use bundle::Bundle;
use signature::{PublicKey, SIGNATURE_HEADER};

/// Bytes of a bundle.
pub const BUNDLE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of a file with a signature.
const SIGNATURE_BYTES_MAX: usize = 1024;
/// Bytes of an ETag that is kept: longer ones make the server send the bundle each time.
const ETAG_BYTES_MAX: usize = 1024;
/// Bytes of a header's value that is read from a file; what follows is cut.
const VALUE_BYTES_MAX: u64 = 16 * 1024;
/// For one poll, when the configuration doesn't say.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(20);
/// The most that the configuration may say. The host's own timeout counts as well.
const TIMEOUT_SECONDS_MAX: u64 = 600;

/// The pod source.
pub struct HttpBundle;

/// The plugin's `config:`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    /// Where the bundle is.
    url: String,
    /// Headers of the request.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Headers whose values are files, read at each poll: header → path in a granted folder. (The host's secrets would need
    /// their grant from all, because a component imports them or doesn't.)
    #[serde(default)]
    header_files: BTreeMap<String, PathBuf>,
    /// Ed25519 keys in base64, 32 bytes each. With keys, only a bundle that one of them signed is taken.
    #[serde(default)]
    public_keys: Vec<PublicKey>,
    /// Where the signature is, if neither in the header nor at the URL with `.sig` behind its path.
    signature_url: Option<String>,
    /// Refuses a bundle without a version, as it refuses one with an older version than the last.
    #[serde(default)]
    require_version: bool,
    /// For one poll.
    timeout_seconds: Option<u64>,
}

/// What the next poll is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

impl Cursor {
    /// One that can't be read is none: the bundle comes whole.
    fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn write(&self) -> String {
        serde_json::to_string(self).expect("a text and a number always become JSON")
    }
}

impl PodSource for HttpBundle {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        Request::get(&config.url).map_err(|error| Error::invalid("url", error.to_string()))?;
        if let Some(url) = &config.signature_url {
            Request::get(url).map_err(|error| Error::invalid("signatureUrl", error.to_string()))?;
            if config.public_keys.is_empty() {
                return Err(Error::invalid("signatureUrl", "requires publicKeys"));
            }
        }
        if let Some(seconds) = config.timeout_seconds.filter(|s| !(1..=TIMEOUT_SECONDS_MAX).contains(s)) {
            let problem = format!("{seconds} isn't 1 to {TIMEOUT_SECONDS_MAX}");
            return Err(Error::invalid("timeoutSeconds", problem));
        }
        let twice = config
            .headers
            .keys()
            .find(|name| config.header_files.keys().any(|other| other.eq_ignore_ascii_case(name)));
        match twice {
            Some(name) => Err(Error::invalid("headers", format!("{name} is in headerFiles, too"))),
            None => Ok(()),
        }
    }

    fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        let last = Cursor::read(cursor);
        let timeout = config.timeout_seconds.map_or(TIMEOUT_DEFAULT, Duration::from_secs);
        let deadline = Deadline::after(timeout);
        let mut request = request(&config.url, config)?;
        if let Some(etag) = &last.etag {
            request = request.header("If-None-Match", etag);
        }
        let mut answer = ask(&request, deadline)?;
        match answer.status() {
            200 => {}
            304 if last.etag.is_some() => return Ok(Poll::unchanged().with_cursor(last.write())),
            _ => return Err(refused(&answer, &config.url)),
        }
        let signature = answer.header(SIGNATURE_HEADER);
        let etag = answer.header("ETag").filter(|etag| etag.len() <= ETAG_BYTES_MAX);
        let body = answer.whole_body(BUNDLE_BYTES_MAX, deadline).map_err(Error::from)?;
        drop(answer);
        if !config.public_keys.is_empty() {
            let signature = match signature {
                Some(signature) => signature,
                None => detached(config, deadline)?,
            };
            signature::verify(&body, &signature, &config.public_keys).map_err(invalid)?;
        }
        let Bundle { pods, version } = bundle::read(&body).map_err(invalid)?;
        bundle::check_version(version, last.version, config.require_version).map_err(invalid)?;
        let cursor = Cursor { etag, version: version.or(last.version) };
        Ok(Poll::all(pods).with_cursor(cursor.write()))
    }
}

fn invalid(error: impl std::error::Error) -> SourceError {
    SourceError::new("Invalid", error.to_string())
}

fn request(url: &str, config: &Config) -> Result<Request, SourceError> {
    let mut request = Request::get(url).map_err(Error::from)?.header("User-Agent", "witlet-http-bundle");
    for (name, value) in &config.headers {
        request = request.header(name, value);
    }
    for (name, path) in &config.header_files {
        let value = read_value(path)
            .map_err(|error| SourceError::new("Denied", format!("{}: {error}", path.display())))?;
        // The newline at the end of a file is no part of the value.
        request = request.header(name, value.trim_end());
    }
    Ok(request)
}

fn read_value(path: &Path) -> std::io::Result<String> {
    let mut value = String::new();
    File::open(path)?.take(VALUE_BYTES_MAX).read_to_string(&mut value)?;
    Ok(value)
}

fn ask(request: &Request, deadline: Deadline) -> Result<Response, SourceError> {
    Ok(send(request, deadline).map_err(Error::from)?)
}

fn detached(config: &Config, deadline: Deadline) -> Result<String, SourceError> {
    let url = match &config.signature_url {
        Some(url) => url.clone(),
        None => signature::signature_url(&config.url),
    };
    let mut answer = ask(&request(&url, config)?, deadline)?;
    if answer.status() != 200 {
        return Err(refused(&answer, &url));
    }
    let text = answer.whole_body(SIGNATURE_BYTES_MAX, deadline).map_err(Error::from)?;
    String::from_utf8(text).map_err(|_| SourceError::new("Invalid", "the signature is no text"))
}

/// An answer that isn't the file.
fn refused(answer: &Response, url: &str) -> SourceError {
    let status = answer.status();
    let reason = if [401, 403].contains(&status) { "Denied" } else { "Unavailable" };
    let error = SourceError::new(reason, format!("GET {url}: HTTP status {status}"));
    let seconds = answer.header("Retry-After").and_then(|value| value.trim().parse().ok());
    match seconds {
        Some(seconds) => error.retry_after(Duration::from_secs(seconds)),
        None => error,
    }
}

export_pod_source!(HttpBundle);

#[cfg(test)]
mod tests;
