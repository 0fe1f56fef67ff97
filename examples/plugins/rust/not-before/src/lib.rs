//! Example admission handler: a pod waits for a number of seconds after the node has first seen it.
//!
//! A stand-in for whatever a node has to wait for (a maintenance window, a licence, a warm cache): the pod is
//! deferred, not rejected, and admitted later by itself.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod wait;

use jiff::Timestamp;
use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

use wait::{SEEN_ANNOTATION, WAIT_ANNOTATION, Wait};

/// Reason of the deferral.
pub const REASON: &str = "NotBefore";

/// The handler.
pub struct NotBefore;

impl AdmissionHandler for NotBefore {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let pod = request.pod();
        let Some(seconds) = pod.annotation(WAIT_ANNOTATION) else { return Ok(Verdict::Admit) };
        let now = request.now();
        let now = i32::try_from(now.nanoseconds)
            .ok()
            .and_then(|nanoseconds| Timestamp::new(now.seconds, nanoseconds).ok())
            .ok_or_else(|| Error::invalid("now", "the time of the request is out of range"))?;
        Ok(match wait::wait(&seconds, pod.annotation(SEEN_ANNOTATION).as_deref(), now)? {
            Wait::Over => Verdict::Admit,
            Wait::Until { moment, left } => {
                Verdict::defer(REASON, format!("the pod waits until {moment:.0}"), left)
            }
        })
    }
}

export_admission!(NotBefore);

#[cfg(test)]
mod tests;
