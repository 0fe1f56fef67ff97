//! What a server's answers to lists and watches say. One object that can't be read costs no one else anything.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, header};
use kube::core::Status;
use serde::Deserialize;
use serde_json::value::RawValue;
use witlet_core::network::retry_after;
use witlet_core::reflector::Failure;

use super::change::{Change, Malformed, OBJECTS_MAX, ObjectKey, WatchError, Watched};

/// The annotation of the bookmark that ends the objects which a watch begins with.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
/// What the server calls a version that it doesn't have yet.
const TOO_LARGE: &str = "ResourceVersionTooLarge";
/// The same in words, for servers that have no such word.
const TOO_LARGE_WORDS: &str = "Too large resource version";
/// Characters of foreign words that are passed on.
const WORDS_MAX: usize = 512;

/// Objects of a list.
#[derive(Debug)]
pub(super) struct Listed<K> {
    pub(super) objects: Vec<Arc<K>>,
    pub(super) malformed: Vec<Malformed>,
}

impl<K> Default for Listed<K> {
    fn default() -> Self {
        Self { objects: Vec::new(), malformed: Vec::new() }
    }
}

impl<K> Listed<K> {
    pub(super) fn extend(&mut self, more: Self) -> Result<(), WatchError> {
        self.objects.extend(more.objects);
        self.malformed.extend(more.malformed);
        self.is_bounded()
    }

    /// Takes a change that came before all objects were read.
    pub(super) fn take(&mut self, change: Change<K>) -> Result<(), WatchError> {
        match change {
            Change::Put(object) => self.objects.push(object),
            Change::Malformed(malformed) => self.malformed.push(malformed),
            // Servers send no deletions before that.
            _ => {}
        }
        self.is_bounded()
    }

    fn is_bounded(&self) -> Result<(), WatchError> {
        match self.objects.len() + self.malformed.len() > OBJECTS_MAX {
            true => Err(WatchError::TooMuch(format!("{OBJECTS_MAX} objects"))),
            false => Ok(()),
        }
    }
}

/// One page of a list.
pub(super) struct Page<K> {
    pub(super) listed: Listed<K>,
    pub(super) version: String,
    pub(super) token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawListMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    token: Option<String>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(default)]
    metadata: RawListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads a page. Without a version a list is of no use, because nothing can follow it.
pub(super) fn page<K: Watched>(bytes: &[u8]) -> Result<Page<K>, WatchError> {
    let raw: RawPage<'_> =
        serde_json::from_slice(bytes).map_err(|error| WatchError::Malformed(short(&error.to_string())))?;
    let version = raw.metadata.resource_version.unwrap_or_default();
    let token = raw.metadata.token.filter(|token| !token.is_empty());
    if version.is_empty() && token.is_none() {
        return Err(WatchError::Malformed("the list has no resourceVersion".to_owned()));
    }
    let mut listed = Listed::default();
    for item in raw.items.unwrap_or_default() {
        match decode(item) {
            Ok(object) => listed.objects.push(object),
            Err(error) => listed.malformed.push(malformed(item, error)),
        }
    }
    Ok(Page { listed, version, token })
}

/// One event of a watch.
#[derive(Debug)]
pub struct Said<K> {
    /// The resource version; empty where it has none.
    pub version: String,
    pub event: Event<K>,
}

impl<K> Said<K> {
    /// Creates the event of an object that could not be identified.
    pub(super) fn unread(message: String) -> Self {
        Self { version: String::new(), event: Event::Unread(message) }
    }
}

/// What an event says.
#[derive(Debug)]
pub enum Event<K> {
    /// The object is new, or changed.
    Put(Arc<K>),
    /// The object is gone.
    Deleted(ObjectKey),
    /// The object can't be read.
    Malformed(Malformed),
    /// Not even the event can be read, and why.
    Unread(String),
    /// All that happened up to a version was sent.
    Bookmark {
        /// Whether all objects were sent that a watch begins with.
        is_end: bool,
    },
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawMeta<'a> {
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
}

#[derive(Deserialize)]
struct RawObject<'a> {
    #[serde(borrow)]
    metadata: RawMeta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBookmark {
    metadata: RawBookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBookmarkMeta {
    #[serde(default)]
    resource_version: String,
    annotations: Option<BTreeMap<String, String>>,
}

/// Reads an event. An event that reports a failure of the watch is an error; whatever else can't be read is a malformed object.
pub(super) fn event<K: Watched>(line: &[u8]) -> Result<Said<K>, WatchError> {
    let raw: RawEvent<'_> = match serde_json::from_slice(line) {
        Ok(raw) => raw,
        Err(error) => {
            return Ok(Said::unread(format!("failed to decode an event: {}", short(&error.to_string()))));
        }
    };
    if raw.kind == "ERROR" {
        let status: Status = serde_json::from_str(raw.object.get()).unwrap_or_default();
        return Err(refused(status.code, status, None));
    }
    if raw.kind == "BOOKMARK" {
        return Ok(match serde_json::from_str::<RawBookmark>(raw.object.get()) {
            Ok(RawBookmark { metadata }) => {
                let says_end = |annotations: BTreeMap<String, String>| {
                    annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true")
                };
                let is_end = metadata.annotations.is_some_and(says_end);
                Said { version: metadata.resource_version, event: Event::Bookmark { is_end } }
            }
            Err(error) => Said::unread(format!("failed to decode a bookmark: {}", short(&error.to_string()))),
        });
    }
    let version = serde_json::from_str::<RawObject<'_>>(raw.object.get());
    let version = version.map(|object| object.metadata.resource_version.into_owned()).unwrap_or_default();
    let event = match &*raw.kind {
        "ADDED" | "MODIFIED" => match decode(raw.object) {
            Ok(object) => Event::Put(object),
            Err(error) => Event::Malformed(malformed(raw.object, error)),
        },
        "DELETED" => match key(raw.object) {
            Some(key) => Event::Deleted(key),
            None => {
                Event::Malformed(Malformed { key: None, message: "a deleted object has no name".to_owned() })
            }
        },
        other => {
            let message = format!("unknown event type {}", short(other));
            Event::Malformed(Malformed { key: key(raw.object), message })
        }
    };
    Ok(Said { version, event })
}

/// The object, without managed fields. One without a name is none.
fn decode<K: Watched>(raw: &RawValue) -> Result<Arc<K>, String> {
    let mut object: K = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let meta = object.meta_mut();
    if meta.name.as_deref().unwrap_or_default().is_empty() {
        return Err("it has no name".to_owned());
    }
    meta.managed_fields = None;
    Ok(Arc::new(object))
}

/// Which object it is, if it says so.
fn key(raw: &RawValue) -> Option<ObjectKey> {
    let RawMeta { namespace, name, uid, .. } =
        serde_json::from_str::<RawObject<'_>>(raw.get()).ok()?.metadata;
    let (namespace, name, uid) = (namespace.into_owned(), name.into_owned(), uid.into_owned());
    (!name.is_empty()).then_some(ObjectKey { namespace, name, uid })
}

fn malformed(raw: &RawValue, error: String) -> Malformed {
    Malformed { key: key(raw), message: short(&error) }
}

fn short(words: &str) -> String {
    words.chars().take(WORDS_MAX).collect()
}

/// Refuses what isn't JSON by its own account: a proxy's page, whatever its code is. An answer without a type is read.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), WatchError> {
    match headers.get(header::CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes())) {
        Some(kind) if !kind.to_ascii_lowercase().contains("json") => {
            Err(WatchError::Malformed(format!("expected JSON, found {}", short(&kind))))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns what a refusal says.
pub(super) fn refusal(code: u16, headers: &HeaderMap, body: &[u8]) -> WatchError {
    let status = serde_json::from_slice::<Status>(body).unwrap_or_else(|_| {
        let message = String::from_utf8_lossy(body).trim().to_owned();
        Status { message, ..Status::default() }
    });
    let asked = headers.get(header::RETRY_AFTER).and_then(|value| retry_after(value.to_str().ok()?));
    refused(code, status, asked)
}

fn refused(code: u16, status: Status, asked: Option<Duration>) -> WatchError {
    let details = status.details.as_ref();
    let in_details = details.map(|details| u64::from(details.retry_after_seconds)).filter(|asked| *asked > 0);
    let asked = asked.or(in_details.map(Duration::from_secs));
    let mut causes = details.iter().flat_map(|details| &details.causes);
    let is_too_large =
        causes.any(|cause| cause.reason == TOO_LARGE) || status.message.contains(TOO_LARGE_WORDS);
    let failure = match (code, status.reason.as_str()) {
        _ if is_too_large => Failure::TooLarge,
        (410, _) | (_, "Expired" | "Gone") => Failure::Expired,
        (400 | 405 | 406 | 415 | 422 | 501, _) => Failure::Unsupported,
        (429, _) => Failure::Busy(asked),
        (500.., _) => Failure::Failing(asked),
        _ => Failure::Other,
    };
    WatchError::Refused { code, reason: short(&status.reason), message: short(&status.message), failure }
}

#[cfg(test)]
mod tests;
