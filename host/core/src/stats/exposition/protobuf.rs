//! Families as messages of Protocol Buffers. `proto/prometheus` has the definition, and a test of the server
//! reads what is written here by it.
//!
//! Written by hand, field by field: labels that many figures share are bytes that are copied.

use super::Kind;

// Numbers of fields, by the message that has them.
const FAMILY_NAME: u32 = 1;
const FAMILY_HELP: u32 = 2;
const FAMILY_TYPE: u32 = 3;
const FAMILY_METRIC: u32 = 4;
const METRIC_LABEL: u32 = 1;
const METRIC_GAUGE: u32 = 2;
const METRIC_COUNTER: u32 = 3;
const METRIC_TIMESTAMP: u32 = 6;
const METRIC_HISTOGRAM: u32 = 7;
const LABEL_NAME: u32 = 1;
const LABEL_VALUE: u32 = 2;
/// Of a counter and of a gauge.
const VALUE: u32 = 1;
const HISTOGRAM_COUNT: u32 = 1;
const HISTOGRAM_SUM: u32 = 2;
const HISTOGRAM_BUCKET: u32 = 3;
const BUCKET_COUNT: u32 = 1;
const BUCKET_BOUND: u32 = 2;

// How a field is written.
const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;

/// The bytes of a key: all numbers of fields here are below 16.
const KEY_BYTES: u64 = 1;
/// The bytes of a field of 64 bits.
const DOUBLE_BYTES: u64 = KEY_BYTES + 8;

/// A message after its length.
pub(super) fn delimited(to: &mut Vec<u8>, message: &[u8]) {
    varint(to, message.len() as u64);
    to.extend_from_slice(message);
}

/// What a family begins with.
pub(super) fn begin(family: &mut Vec<u8>, name: &str, help: &str, kind: Kind) {
    bytes(family, FAMILY_NAME, name.as_bytes());
    bytes(family, FAMILY_HELP, help.as_bytes());
    let kind = match kind {
        Kind::Counter => 0,
        Kind::Gauge => 1,
        Kind::Histogram => 4,
    };
    number(family, FAMILY_TYPE, kind);
}

/// A label of a figure.
pub(super) fn label(to: &mut Vec<u8>, name: &str, value: &str) {
    key(to, METRIC_LABEL, LENGTH_DELIMITED);
    varint(to, label_bytes(name, value));
    bytes(to, LABEL_NAME, name.as_bytes());
    bytes(to, LABEL_VALUE, value.as_bytes());
}

/// A figure of a counter or a gauge with labels that were [written](label) before and more.
pub(super) fn figure(
    family: &mut Vec<u8>,
    kind: Kind,
    (labels, more): (&[u8], &[(&str, &str)]),
    value: f64,
    at: Option<i64>,
) {
    // As the format has negative numbers: in two's complement.
    let at = at.map(i64::cast_unsigned);
    let of_more = more.iter().map(|(name, value)| delimited_bytes(label_bytes(name, value))).sum::<u64>();
    let of_time = at.map_or(0, |at| KEY_BYTES + varint_bytes(at));
    let of_value = delimited_bytes(DOUBLE_BYTES);
    key(family, FAMILY_METRIC, LENGTH_DELIMITED);
    varint(family, labels.len() as u64 + of_more + of_value + of_time);
    family.extend_from_slice(labels);
    more.iter().for_each(|(name, value)| label(family, name, value));
    let field = if kind == Kind::Counter { METRIC_COUNTER } else { METRIC_GAUGE };
    key(family, field, LENGTH_DELIMITED);
    varint(family, DOUBLE_BYTES);
    double(family, VALUE, value);
    if let Some(at) = at {
        number(family, METRIC_TIMESTAMP, at);
    }
}

/// The bytes of a label's message.
fn label_bytes(name: &str, value: &str) -> u64 {
    delimited_bytes(name.len() as u64) + delimited_bytes(value.len() as u64)
}

/// The bytes of a field whose value has so many.
fn delimited_bytes(value: u64) -> u64 {
    KEY_BYTES + varint_bytes(value) + value
}

fn varint_bytes(value: u64) -> u64 {
    u64::from((u64::BITS - (value | 1).leading_zeros()).div_ceil(7))
}

/// A histogram: of each bucket the upper bound and the count with those below. The one without a bound is that of all.
pub(super) fn histogram(family: &mut Vec<u8>, labels: &[u8], buckets: &[(f64, u64)], count: u64, sum: f64) {
    let mut histogram = Vec::new();
    number(&mut histogram, HISTOGRAM_COUNT, count);
    double(&mut histogram, HISTOGRAM_SUM, sum);
    for (bound, count) in buckets.iter().filter(|(bound, _)| bound.is_finite()) {
        let mut bucket = Vec::new();
        number(&mut bucket, BUCKET_COUNT, *count);
        double(&mut bucket, BUCKET_BOUND, *bound);
        bytes(&mut histogram, HISTOGRAM_BUCKET, &bucket);
    }
    let mut metric = labels.to_vec();
    bytes(&mut metric, METRIC_HISTOGRAM, &histogram);
    bytes(family, FAMILY_METRIC, &metric);
}

fn bytes(to: &mut Vec<u8>, field: u32, value: &[u8]) {
    key(to, field, LENGTH_DELIMITED);
    delimited(to, value);
}

fn number(to: &mut Vec<u8>, field: u32, value: u64) {
    key(to, field, VARINT);
    varint(to, value);
}

fn double(to: &mut Vec<u8>, field: u32, value: f64) {
    key(to, field, FIXED_64);
    to.extend_from_slice(&value.to_le_bytes());
}

fn key(to: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(to, u64::from((field << 3) | wire_type));
}

/// Seven bits in each byte, the lowest first; the highest bit says that more follow.
fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}
