//! Faults on demand: rules that requests are matched against, in order.

use std::time::Duration;

use crate::error::ApiError;
use crate::requests::Request;

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The connection breaks before the request does anything.
    DropBefore,
    /// The connection breaks after the request did what it asks for.
    DropAfter,
    /// This error is the answer, and nothing is done.
    Respond(ApiError),
    /// The request waits so long, and then does what it asks for.
    Slow(Duration),
    /// Nothing is done and nothing is answered, ever: a half-open connection.
    Stall,
    /// What it asks for is done, and nothing is answered, ever.
    StallAfter,
    /// Nothing is done, and this is the answer: what a proxy sends, not an API server.
    Says {
        /// The HTTP status.
        code: u16,
        /// The type of the body.
        content_type: &'static str,
        body: &'static str,
    },
    /// What it asks for is done, and half of the answer's bytes are sent; of a watch, half an event.
    Half,
    /// A watch begins with an event that can't be decoded (its object is one field of the wrong type), and goes on.
    MalformedEvent,
}

impl Effect {
    /// An error answer by its code, in upstream's words for it: 401, 403, 404, 409, 410, 429 (after 1 s), 500, 503, 504.
    pub fn code(code: u16) -> Self {
        let (reason, message) = match code {
            401 => ("Unauthorized", "Unauthorized"),
            403 => ("Forbidden", "forbidden by a fault"),
            404 => ("NotFound", "not found by a fault"),
            409 => ("Conflict", "Operation cannot be fulfilled: the object has been modified"),
            410 => ("Expired", "The resourceVersion for the provided watch is too old."),
            429 => return Self::too_many(1),
            503 => ("ServiceUnavailable", "apiserver not ready"),
            504 => ("Timeout", "request did not complete within the allotted timeout"),
            _ => ("InternalError", "Internal error occurred: a fault"),
        };
        Self::Respond(ApiError::new(code, reason, message))
    }

    /// A proxy's page with this code.
    pub fn html(code: u16) -> Self {
        Self::Says { code, content_type: "text/html", body: "<html><body>Bad Gateway</body></html>\n" }
    }

    /// 200 and nothing else.
    pub fn nothing() -> Self {
        Self::Says { code: 200, content_type: "application/json", body: "" }
    }

    /// 429 with `Retry-After` in seconds.
    pub fn too_many(seconds: u64) -> Self {
        Self::Respond(ApiError::too_many_requests("too many requests, please try again later", seconds))
    }
}

/// A rule: which requests, how often, and what happens to them. Made by [`Fault::new`] it matches every request, forever.
#[derive(Clone, Debug)]
pub struct Fault {
    verb: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    name: Option<String>,
    user: Option<String>,
    is_streaming_list: bool,
    left: Option<u64>,
    skip: u64,
    effect: Effect,
}

impl Fault {
    /// Every request, forever.
    pub fn new(effect: Effect) -> Self {
        let (verb, resource, subresource, name, user) = (None, None, None, None, None);
        let (is_streaming_list, left, skip) = (false, None, 0);
        Self { verb, resource, subresource, name, user, is_streaming_list, left, skip, effect }
    }

    /// Only requests of this verb.
    #[must_use]
    pub fn verb(mut self, verb: &str) -> Self {
        self.verb = Some(verb.to_owned());
        self
    }

    /// Only requests on this resource; `pods/status` names a subresource too, `pods` alone means any.
    #[must_use]
    pub fn on(mut self, resource: &str) -> Self {
        let (resource, subresource) = match resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (resource, None),
        };
        (self.resource, self.subresource) = (Some(resource.to_owned()), subresource);
        self
    }

    /// Only requests on this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only requests of this user.
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// Only watches that are to begin with all objects (`sendInitialEvents`).
    #[must_use]
    pub fn streaming_list(mut self) -> Self {
        self.is_streaming_list = true;
        self
    }

    /// Only so many of them.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.left = Some(times);
        self
    }

    /// Not the first so many of them.
    #[must_use]
    pub fn after(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    fn matches(&self, request: &Request) -> bool {
        let is = |expected: &Option<String>, given: &str| {
            expected.as_ref().is_none_or(|expected| expected == given)
        };
        is(&self.verb, &request.verb)
            && is(&self.resource, &request.resource)
            && is(&self.subresource, &request.subresource)
            && is(&self.name, &request.name)
            && is(&self.user, &request.user)
            && (!self.is_streaming_list || request.uri.contains("sendInitialEvents=true"))
            && self.left != Some(0)
    }
}

/// The rules, each with a number to take it away by.
#[derive(Default)]
pub(crate) struct Faults {
    next: u64,
    rules: Vec<(u64, Fault)>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) -> u64 {
        self.next += 1;
        self.rules.push((self.next, fault));
        self.next
    }

    pub(crate) fn remove(&mut self, number: u64) {
        self.rules.retain(|(n, _)| *n != number);
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// What happens to this request, by the first rule that matches. The rule is used up by one.
    pub(crate) fn strike(&mut self, request: &Request) -> Option<Effect> {
        for (_, fault) in &mut self.rules {
            if !fault.matches(request) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            fault.left = fault.left.map(|left| left - 1);
            return Some(fault.effect.clone());
        }
        None
    }
}
