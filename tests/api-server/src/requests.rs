//! The log of requests: what tests count and compare.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

/// Requests that are remembered; older ones only count.
const REQUESTS_MAX: usize = 20_000;
/// Bytes of a request's body that are remembered.
const BODY_MAX: usize = 64 << 10;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its number, from 1.
    pub n: u64,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Plural name of the resource; the path for what is none.
    pub resource: String,
    /// Subresource; empty for the object.
    pub subresource: String,
    /// Namespace; empty for the cluster.
    pub namespace: String,
    /// Name; empty for collections.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// Who sent it; empty for anonymous.
    pub user: String,
    /// What was answered; 0 while nothing was, or never.
    pub code: u16,
    /// The request's body; what is longer than 64 KiB is cut.
    pub body: Bytes,
    /// Bytes of the answer's body; 0 for streams.
    pub answered: usize,
}

impl Request {
    /// Verb, resource and subresource in one word, such as `patch pods/status`.
    pub fn action(&self) -> String {
        action(&self.verb, &self.resource, &self.subresource)
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

fn action(verb: &str, resource: &str, subresource: &str) -> String {
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{verb} {resource}{slash}{subresource}")
}

#[derive(Default)]
pub(crate) struct Log {
    last: u64,
    kept: VecDeque<Request>,
    counts: BTreeMap<String, u64>,
}

impl Log {
    /// Takes a request in; its number.
    pub(crate) fn arrived(&mut self, mut request: Request) -> u64 {
        self.last += 1;
        request.n = self.last;
        *self.counts.entry(request.action()).or_default() += 1;
        request.body.truncate(BODY_MAX);
        self.kept.push_back(request);
        if self.kept.len() > REQUESTS_MAX {
            self.kept.pop_front();
        }
        self.last
    }

    /// What became of it.
    pub(crate) fn answered(&mut self, n: u64, code: u16, bytes: usize) {
        if let Some(request) = self.find(n) {
            (request.code, request.answered) = (code, bytes);
        }
    }

    fn find(&mut self, n: u64) -> Option<&mut Request> {
        let first = self.kept.front()?.n;
        self.kept.get_mut(usize::try_from(n.checked_sub(first)?).ok()?)
    }

    pub(crate) fn all(&self) -> Vec<Request> {
        self.kept.iter().cloned().collect()
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.clone()
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Forgets requests and counts; numbers go on.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.counts.clear();
    }
}
