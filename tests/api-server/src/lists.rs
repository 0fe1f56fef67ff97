//! Lists: versions, pages, selectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Value, json};

use crate::error::{ApiError, Cause};
use crate::resources::Resource;
use crate::selector::Selector;
use crate::store::{Key, State};
use crate::value::{number, text};

/// What a list or watch asks for, from the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    /// Which objects.
    pub(crate) selector: Selector,
    /// `resourceVersion`.
    pub(crate) version: String,
    /// `resourceVersionMatch`.
    pub(crate) version_match: String,
    /// `limit`; 0 for none.
    pub(crate) limit: usize,
    /// `continue`.
    pub(crate) token: String,
    /// `sendInitialEvents`.
    pub(crate) initial_events: Option<bool>,
    /// `allowWatchBookmarks`.
    pub(crate) bookmarks: bool,
    /// `timeoutSeconds`.
    pub(crate) timeout: Option<u64>,
}

impl ListOptions {
    /// Reads the query; 400 for what can't be read, 422 for what can't be together.
    pub(crate) fn read(
        resource: &Resource,
        namespace: &str,
        name: &str,
        query: &[(String, String)],
    ) -> Result<Self, ApiError> {
        let get =
            |key: &str| query.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str()).unwrap_or_default();
        let is = |key: &str| matches!(get(key), "true" | "1");
        let mut fields = get("fieldSelector").to_owned();
        if !name.is_empty() {
            fields = if fields.is_empty() {
                format!("metadata.name={name}")
            } else {
                format!("{fields},metadata.name={name}")
            };
        }
        let options = Self {
            selector: Selector::parse(resource, namespace, &fields, get("labelSelector"))?,
            version: get("resourceVersion").to_owned(),
            version_match: get("resourceVersionMatch").to_owned(),
            limit: get("limit").parse().unwrap_or_default(),
            token: get("continue").to_owned(),
            initial_events: Some(is("sendInitialEvents")).filter(|_| !get("sendInitialEvents").is_empty()),
            bookmarks: is("allowWatchBookmarks"),
            timeout: get("timeoutSeconds").parse().ok().filter(|&seconds| seconds > 0),
        };
        options.check(is("watch"))?;
        Ok(options)
    }

    fn check(&self, is_watch: bool) -> Result<(), ApiError> {
        let mut causes = Vec::new();
        if is_watch {
            if self.initial_events.is_some() && self.version_match != "NotOlderThan" {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                causes.push(Cause::forbidden("resourceVersionMatch", why));
            } else if self.initial_events.is_none() && !self.version_match.is_empty() {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                causes.push(Cause::forbidden("resourceVersionMatch", why));
            }
        } else {
            if self.initial_events.is_some() {
                causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
            }
            if !self.version_match.is_empty() && self.version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                causes.push(Cause::forbidden("resourceVersionMatch", why));
            }
            if self.version_match == "Exact" && self.version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(Cause::forbidden("resourceVersionMatch", why));
            }
        }
        if causes.is_empty() {
            return Ok(());
        }
        Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &causes))
    }

    /// The version as a number; 0 for none. 400 for what isn't one.
    pub(crate) fn revision(&self) -> Result<u64, ApiError> {
        if self.version.is_empty() {
            return Ok(0);
        }
        self.version.parse().map_err(|_| {
            let causes = [Cause::invalid(
                "resourceVersion",
                &self.version.as_str().into(),
                "strconv.ParseUint: invalid syntax",
            )];
            ApiError::invalid("meta.k8s.io", "ListOptions", "", &causes)
        })
    }
}

/// The list, as bytes.
pub(crate) fn list(
    state: &State,
    resource: &Resource,
    options: &ListOptions,
    show: impl Fn(&Value) -> Value,
) -> Result<Vec<u8>, ApiError> {
    let (objects, revision, after) = page_start(state, resource, options)?;
    let objects = objects.as_ref().unwrap_or(&state.table(resource).objects);
    let range = objects.range((
        after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded),
        std::ops::Bound::Unbounded,
    ));
    let mut chosen = range.filter(|(_, object)| options.selector.matches(object));
    let mut meta = json!({ "resourceVersion": revision.to_string() });
    let mut items = Vec::new();
    let mut last = None;
    for (key, object) in chosen.by_ref() {
        items.push(object.clone());
        last = Some(key);
        if options.limit > 0 && items.len() == options.limit {
            break;
        }
    }
    let left = chosen.count();
    if left > 0
        && let Some(last) = last
    {
        meta["continue"] = token(revision, last).into();
        if options.selector.is_open() {
            meta["remainingItemCount"] = left.into();
        }
    }
    let items: Vec<Item> = items.iter().map(|object| Item(show(object))).collect();
    let whole =
        Whole { kind: format!("{}List", resource.kind), version: resource.api_version(), meta, items };
    serde_json::to_vec(&whole).map_err(|cause| ApiError::new(500, "InternalError", cause.to_string()))
}

type PageStart = (Option<BTreeMap<Key, Arc<Value>>>, u64, Option<Key>);

/// Which objects (none for the current ones), their version, and behind which one the page begins.
fn page_start(state: &State, resource: &Resource, options: &ListOptions) -> Result<PageStart, ApiError> {
    let current = state.revision;
    if !options.token.is_empty() {
        if !options.version.is_empty() && options.version != "0" {
            let message = "specifying resource version is not allowed when using continue";
            return Err(ApiError::bad_request(message));
        }
        let (revision, key) = read_token(&options.token)?;
        // An inconsistent continuation has no version of its own.
        if revision == 0 {
            return Ok((None, current, Some(key)));
        }
        let Some(objects) = state.table(resource).at(revision) else {
            let message = "The provided continue parameter is too old to display a consistent list result. You can \
                           start a new list without the continue parameter, or use the continue token in this \
                           response to retrieve the remainder of the results.";
            let mut error = ApiError::expired(message);
            *error.metadata = json!({ "continue": token(0, &key) });
            return Err(error);
        };
        return Ok((Some(objects), revision, Some(key)));
    }
    let revision = options.revision()?;
    if revision > current {
        return Err(ApiError::too_large_version(revision, current));
    }
    let is_exact = options.version_match == "Exact"
        || (options.version_match.is_empty() && options.limit > 0 && revision > 0);
    if is_exact {
        let Some(objects) = state.table(resource).at(revision) else {
            return Err(ApiError::expired("The resourceVersion for the provided list is too old."));
        };
        return Ok((Some(objects), revision, None));
    }
    Ok((None, current, None))
}

fn token(revision: u64, after: &Key) -> String {
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "ns": after.namespace, "start": after.name });
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(token: &str) -> Result<(u64, Key), ApiError> {
    let invalid = || ApiError::bad_request("continue key is not valid");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
    let revision = number(&token, "/rv").and_then(|n| u64::try_from(n).ok()).ok_or_else(invalid)?;
    Ok((revision, Key::new(text(&token, "/ns"), text(&token, "/start"))))
}

#[derive(Serialize)]
struct Whole {
    kind: String,
    #[serde(rename = "apiVersion")]
    version: String,
    #[serde(rename = "metadata")]
    meta: Value,
    items: Vec<Item>,
}

/// An object in a list: its kind is the list's.
struct Item(Value);

impl Serialize for Item {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.as_object();
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in fields.into_iter().flatten() {
            if !matches!(key.as_str(), "kind" | "apiVersion") {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}
