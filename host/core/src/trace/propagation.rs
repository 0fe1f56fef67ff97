//! How the context of a trace travels in headers: `traceparent`, `tracestate` and `baggage` (W3C).
//!
//! What comes in is foreign. A `traceparent` that isn't one is passed over; the other two are passed on as they came, if they
//! are within their bounds.

use std::sync::Arc;

use super::ids::{SpanId, TraceId};
use super::span::SpanContext;

#[cfg(test)]
mod tests;

/// The header that names the span.
pub const TRACEPARENT: &str = "traceparent";
/// The header of what vendors add.
pub const TRACESTATE: &str = "tracestate";
/// The header of what callers add.
pub const BAGGAGE: &str = "baggage";

/// Longest `tracestate` that every vendor has to take, in bytes, and its most members.
const STATE_BYTES_MAX: usize = 512;
const STATE_MEMBERS_MAX: usize = 32;
/// Longest `baggage` in bytes.
const BAGGAGE_BYTES_MAX: usize = 8192;

/// What a request brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    pub parent: Option<SpanContext>,
    pub baggage: Option<Arc<str>>,
}

impl Incoming {
    /// Read from headers. Costs nothing where there are none.
    pub fn of<'a>(header: impl Fn(&'static str) -> Option<&'a str>) -> Self {
        let parent = header(TRACEPARENT).and_then(parse);
        let parent = parent.map(|(trace_id, span_id, sampled)| {
            let state = header(TRACESTATE).map(str::trim).filter(|state| is_state(state));
            SpanContext { trace_id, span_id, sampled, state: state.map(Arc::from) }
        });
        let baggage = header(BAGGAGE).map(str::trim).filter(|baggage| is_baggage(baggage)).map(Arc::from);
        Self { parent, baggage }
    }
}

/// The value of `traceparent` for a span.
pub fn traceparent(context: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", context.trace_id, context.span_id, u8::from(context.sampled))
}

/// Version, trace, span and flags, in lower-case hexadecimal digits. Later versions may say more, which is passed over.
fn parse(value: &str) -> Option<(TraceId, SpanId, bool)> {
    let mut parts = value.split('-');
    let version = digits(parts.next()?, 2)?;
    let trace_id = TraceId::new(digits(parts.next()?, 32)?)?;
    let span_id = SpanId::new(u64::try_from(digits(parts.next()?, 16)?).ok()?)?;
    let flags = digits(parts.next()?, 2)?;
    let fits = match version {
        // As upstream has it, which takes the flag of random ids (2) only alone.
        0 => parts.next().is_none() && flags <= 2,
        1..=254 => true,
        _ => false,
    };
    fits.then_some((trace_id, span_id, flags & 1 == 1))
}

fn digits(text: &str, count: usize) -> Option<u128> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == count && text.bytes().all(is_hex)).then(|| u128::from_str_radix(text, 16).ok())?
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

fn is_state(state: &str) -> bool {
    let members = || state.split(',').map(str::trim).filter(|member| !member.is_empty());
    let is_member = |member: &str| {
        member.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
    };
    state.len() <= STATE_BYTES_MAX
        && is_printable(state)
        && (1..=STATE_MEMBERS_MAX).contains(&members().count())
        && members().all(is_member)
}

fn is_baggage(baggage: &str) -> bool {
    let is_member = |member: &str| {
        let pair = member.split(';').next().unwrap_or_default();
        pair.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty())
    };
    baggage.len() <= BAGGAGE_BYTES_MAX && is_printable(baggage) && baggage.split(',').all(is_member)
}
