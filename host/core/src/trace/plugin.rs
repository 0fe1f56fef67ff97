//! Spans of calls into plugins, which a kubelet doesn't have.

use std::borrow::Cow;
use std::time::Duration;

use super::span::{Attribute, SpanKind, SpanStart};

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginCall<'a> {
    pub plugin: &'a str,
    /// The beginning of its component's digest; none while it isn't loaded.
    pub digest: Option<&'a str>,
    /// As which it is asked.
    pub role: &'static str,
    /// What it is asked, by the name of the contract's function.
    pub function: &'static str,
    /// The UID of the pod that it is about, if it is about one.
    pub pod_uid: Option<&'a str>,
}

/// The span of a call.
pub fn call(call: &PluginCall<'_>) -> SpanStart {
    let digest = call.digest.map(|digest| Attribute::text("witlet.plugin.digest", digest));
    let pod = call.pod_uid.map(|uid| Attribute::text("k8s.pod.uid", uid));
    let attributes = [
        Some(Attribute::text("witlet.plugin.name", call.plugin)),
        digest,
        Some(Attribute::text("witlet.plugin.role", call.role)),
        Some(Attribute::text("witlet.plugin.function", call.function)),
        pod,
    ];
    SpanStart {
        name: Cow::Owned(format!("Plugin/{}", call.function)),
        kind: SpanKind::Internal,
        attributes: attributes.into_iter().flatten().collect(),
    }
}

/// How long it waited for its turn before it began.
pub fn waited(time: Duration) -> Attribute {
    Attribute::int("witlet.plugin.waited_microseconds", i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}

/// Returns what came of it, in the words of `witlet_plugin_calls_total`.
pub fn outcome(word: &str) -> Attribute {
    Attribute::text("witlet.plugin.outcome", word)
}
