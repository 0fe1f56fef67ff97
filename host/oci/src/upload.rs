//! What is put into a registry: blobs and manifests.

use bytes::Bytes;
use http::Method;
use serde::Deserialize;

use crate::address;
use crate::digest::digest_of;
use crate::error::{TransferError, TransferItem};
use crate::retry::Attempt;
use crate::session::{
    AttemptError, BytesSink, Content, RegistryRequest, Session, location, malformed, read_all, retry_after,
    with_query,
};

/// How much of a registry's answer to what it doesn't take is read.
const WORDS_BYTES_MAX: usize = 16 << 10;
/// How much of it is reported.
const WORDS_CHARS_MAX: usize = 256;
/// The media type of a blob on its way.
const BLOB_TYPE: &str = "application/octet-stream";

/// What became of a manifest.
pub(crate) struct PutManifest {
    /// Whether the registry has noted what the manifest refers to.
    pub(crate) subject_noted: bool,
}

impl Session<'_> {
    /// Puts a blob where it isn't yet: in one piece, which every registry takes. Says whether it had to go. A failed
    /// upload is begun again.
    pub(crate) async fn put_blob(
        &mut self,
        what: TransferItem,
        bytes: &Bytes,
        progress: Option<&BytesSink>,
    ) -> Result<bool, TransferError> {
        let digest = digest_of(bytes);
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.put_blob_once(what, &digest, bytes, progress).await {
                Ok(sent) => return Ok(sent),
                Err(failed) => self.pause(attempts, failed).await?,
            }
        }
    }

    async fn put_blob_once(
        &mut self,
        what: TransferItem,
        digest: &str,
        bytes: &Bytes,
        progress: Option<&BytesSink>,
    ) -> Result<bool, AttemptError> {
        let uri = self.place.uri(&format!("blobs/{digest}"))?;
        let (response, host) = self.ask(&RegistryRequest::bare(what, Method::HEAD, uri, "*/*")).await?;
        match response.status().as_u16() {
            200 => return Ok(false),
            404 => {}
            _ => return Err(self.unexpected(&response, host, what)),
        }
        let uri = self.place.uri("blobs/uploads/")?;
        let (response, host) = self.ask(&RegistryRequest::bare(what, Method::POST, uri, "*/*")).await?;
        if response.status() != 202 {
            return Err(self.declined(response, host, what).await);
        }
        let home = self.place.uri("")?;
        let place = "the place for an upload";
        let uri = address::follow(&home, location(response.headers())?, &home, place)?;
        let uri = with_query(&uri, &format!("digest={digest}")).ok_or_else(|| malformed(place))?;
        drop(response);
        let content = Content { media_type: BLOB_TYPE, bytes: bytes.clone(), progress: progress.cloned() };
        let ask = RegistryRequest { what, method: Method::PUT, uri, accept: "*/*", content: Some(content) };
        let (response, host) = self.ask(&ask).await?;
        if response.status() != 201 {
            return Err(self.declined(response, host, what).await);
        }
        Ok(true)
    }

    /// Puts a manifest or index under a tag or its own digest.
    pub(crate) async fn put_manifest(
        &mut self,
        what: TransferItem,
        name: &str,
        media_type: &'static str,
        bytes: &Bytes,
    ) -> Result<PutManifest, TransferError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.put_manifest_once(what, name, media_type, bytes).await {
                Ok(put) => return Ok(put),
                Err(failed) => self.pause(attempts, failed).await?,
            }
        }
    }

    async fn put_manifest_once(
        &mut self,
        what: TransferItem,
        name: &str,
        media_type: &'static str,
        bytes: &Bytes,
    ) -> Result<PutManifest, AttemptError> {
        let uri = self.place.uri(&format!("manifests/{name}"))?;
        let content = Content { media_type, bytes: bytes.clone(), progress: None };
        let ask = RegistryRequest { what, method: Method::PUT, uri, accept: "*/*", content: Some(content) };
        let (response, host) = self.ask(&ask).await?;
        if response.status() != 201 {
            return Err(self.declined(response, host, what).await);
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let expected = digest_of(bytes);
        // A registry needn't say it, but mustn't say otherwise.
        if let Some(found) = header("docker-content-digest").filter(|found| **found != *expected) {
            let found: String = found.chars().take(WORDS_CHARS_MAX).collect();
            return Err(TransferError::Kept { registry: host, what, expected, found }.into());
        }
        Ok(PutManifest { subject_noted: header("oci-subject").is_some() })
    }

    async fn declined(
        &self,
        response: http::Response<witlet_egress::ResponseBody>,
        host: String,
        what: TransferItem,
    ) -> AttemptError {
        let status = response.status().as_u16();
        let attempt = Attempt::Answered { status, retry_after: retry_after(response.headers()) };
        let answer = read_all(response, &host, what, WORDS_BYTES_MAX).await.unwrap_or_default();
        let error = TransferError::Declined { registry: host, what, status, words: words(&answer) };
        AttemptError { error, attempt: Some(attempt) }
    }
}

/// Returns what a registry says of why (OCI distribution specification 1.1, error codes), with a colon before it.
fn words(answer: &[u8]) -> String {
    #[derive(Deserialize)]
    struct ErrorResponse {
        errors: Vec<Problem>,
    }
    #[derive(Deserialize)]
    struct Problem {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let Ok(ErrorResponse { errors }) = serde_json::from_slice(answer) else { return String::new() };
    let words =
        errors.iter().map(|problem| format!("{} {}", problem.code, problem.message).trim().to_owned());
    let words = words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
    if words.is_empty() {
        return words;
    }
    let words = words.chars().map(|char| if char.is_control() { ' ' } else { char });
    format!(": {}", words.take(WORDS_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registrys_words_are_reported_and_bounded() {
        let cases = [
            (
                r#"{"errors":[{"code":"DENIED","message":"not yours"}]}"#.to_owned(),
                ": DENIED not yours".to_owned(),
            ),
            (r#"{"errors":[{"code":"A"},{"message":"b\u001b[2J"}]}"#.to_owned(), ": A; b [2J".to_owned()),
            (r#"{"errors":[{}]}"#.to_owned(), String::new()),
            ("<html>".to_owned(), String::new()),
            (
                format!(r#"{{"errors":[{{"message":"{}"}}]}}"#, "x".repeat(1000)),
                format!(": {}", "x".repeat(256)),
            ),
        ];
        for (answer, expected) in cases {
            assert_eq!(words(answer.as_bytes()), expected, "{answer}");
        }
    }
}
