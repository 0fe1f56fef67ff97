//! Metrics as Prometheus reads them, in the two formats that a kubelet sends: text, version 0.0.4, and delimited messages of Protocol
//! Buffers for clients that prefer those. Names, labels and bounds of buckets are the same in both, so that a series doesn't depend on who
//! scrapes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;

use jiff::Timestamp;

mod accept;
mod protobuf;
#[cfg(test)]
mod tests;

pub use accept::Negotiated;

/// The largest exposition, in bytes; 10,000 series have some 1.5 MB.
pub const EXPOSITION_BYTES_MAX: usize = 16 << 20;

/// Observations that no series had room for. Only families that have dropped some have a series of it.
const DROPPED: &str = "witlet_metrics_observations_dropped_total";
const DROPPED_HELP: &str =
    "Observations that weren't counted, for their family has no room for another series";

/// What the figures of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until what it counts begins again.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Observations in buckets.
    Histogram,
}

impl Kind {
    /// As text names it.
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values, in the order of names.
    pub labels: Vec<(&'static str, String)>,
    /// The figure.
    pub value: f64,
    /// When it was taken; none is the time of the response.
    pub at: Option<Timestamp>,
}

/// Figures of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Its name, as it is written.
    pub name: &'static str,
    /// What it says, in one line.
    pub help: &'static str,
    /// What the figures are.
    pub kind: Kind,
    /// The figures; without one the family isn't written.
    pub samples: Vec<Sample>,
}

/// How metrics are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text, version 0.0.4.
    #[default]
    Text,
    /// Messages of `io.prometheus.client`, each after its length.
    Protobuf,
}

/// Labels as a format writes them, for those that are written again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<u8>);

impl Labels {
    /// These, in this order.
    pub fn new<'l>(format: Format, labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Self {
        let mut written = Self::default();
        for (name, value) in labels {
            written.push(format, name, value);
        }
        written
    }

    fn push(&mut self, format: Format, name: &str, value: &str) {
        match format {
            Format::Text => {
                let is_first = self.0.is_empty();
                text_label(&mut self.0, is_first, name, value);
            }
            Format::Protobuf => protobuf::label(&mut self.0, name, value),
        }
    }

    /// Messages of these and more; without more no copy is made.
    fn and(&self, more: &[(&str, &str)]) -> Cow<'_, Self> {
        let mut all = Cow::Borrowed(self);
        more.iter().for_each(|(name, value)| all.to_mut().push(Format::Protobuf, name, value));
        all
    }
}

fn text_label(text: &mut Vec<u8>, is_first: bool, name: &str, value: &str) {
    if !is_first {
        text.push(b',');
    }
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"=\"");
    escape(text, value, true);
    text.push(b'"');
}

/// Metrics that are being written, in bounded space.
#[derive(Debug)]
pub struct Exposition {
    bytes: Vec<u8>,
    /// The family that is being written, where its length goes before it.
    family: Vec<u8>,
    format: Format,
    bytes_max: usize,
    is_cut: bool,
    /// By the name of the family that had no room.
    dropped: BTreeMap<&'static str, u64>,
}

impl Exposition {
    /// An empty one, of [`EXPOSITION_BYTES_MAX`] at most.
    pub fn new(format: Format) -> Self {
        Self::bounded(format, EXPOSITION_BYTES_MAX)
    }

    fn bounded(format: Format, bytes_max: usize) -> Self {
        let (bytes, family, dropped) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { bytes, family, format, bytes_max, is_cut: false, dropped }
    }

    /// Begins a family: `name` is its name, as it is written, and `help` one line. Without a sample it isn't written.
    pub fn family<'a>(&'a mut self, name: &'a str, help: &'a str, kind: Kind) -> FamilyWriter<'a> {
        FamilyWriter { to: self, name, help, kind, is_begun: false }
    }

    /// A counter without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, help, Kind::Counter).sample(&[], value as f64);
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, help, Kind::Gauge).sample(&[], value);
    }

    /// All of these, in this order.
    pub fn families(&mut self, families: &[Family]) {
        let format = self.format;
        for Family { name, help, kind, samples } in families {
            let mut family = self.family(name, help, *kind);
            for Sample { labels, value, at } in samples {
                let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
                family.sample_of(&Labels::new(format, labels), &[], *value, *at);
            }
        }
    }

    /// A family left out so many observations since its beginning, for it had no room for their series. They are shown at the end, in a
    /// family of their own.
    pub fn dropped(&mut self, family: &'static str, observations: u64) {
        if observations > 0 {
            *self.dropped.entry(family).or_default() += observations;
        }
    }

    /// All that was written; none if it would be larger than it may be.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let dropped = std::mem::take(&mut self.dropped);
        let mut of_dropped = self.family(DROPPED, DROPPED_HELP, Kind::Counter);
        for (family, observations) in dropped {
            of_dropped.sample(&[("family", family)], observations as f64);
        }
        self.close();
        (!self.is_cut).then_some(self.bytes)
    }

    /// The family that was being written is complete.
    fn close(&mut self) {
        if !self.family.is_empty() {
            let family = std::mem::take(&mut self.family);
            self.push(|bytes| protobuf::delimited(bytes, &family));
        }
    }

    /// Writes all of it, or nothing.
    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.is_cut {
            return;
        }
        let before = self.bytes.len();
        write(&mut self.bytes);
        if self.bytes.len() > self.bytes_max {
            self.bytes.truncate(before);
            self.is_cut = true;
        }
    }

    /// The same of the family that is being written.
    fn push_to_family(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.is_cut {
            write(&mut self.family);
            self.is_cut = self.family.len() > self.bytes_max;
        }
    }
}

/// A family whose samples are being written.
#[derive(Debug)]
pub struct FamilyWriter<'a> {
    to: &'a mut Exposition,
    name: &'a str,
    help: &'a str,
    kind: Kind,
    is_begun: bool,
}

impl FamilyWriter<'_> {
    /// A figure with these labels.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        self.sample_of(&Labels::default(), labels, value, None);
    }

    /// A figure with the labels that `of` has and more. `of` must have been made for the same format.
    pub fn sample_of(&mut self, of: &Labels, more: &[(&str, &str)], value: f64, at: Option<Timestamp>) {
        self.begin();
        match self.to.format {
            Format::Text => self.line("", of, more, value, at),
            Format::Protobuf => {
                let (kind, at) = (self.kind, at.map(Timestamp::as_millisecond));
                let labels = of.and(more);
                self.to.push_to_family(|family| protobuf::figure(family, kind, &labels.0, value, at));
            }
        }
    }

    /// A histogram with these labels: of each bucket the inclusive upper bound and the count without those below, in ascending order and
    /// the one without a bound last; and the sum of all observations.
    pub fn histogram(
        &mut self,
        labels: &[(&str, &str)],
        buckets: impl IntoIterator<Item = (f64, u64)>,
        sum: f64,
    ) {
        self.begin();
        let mut count = 0_u64;
        let summed_up = buckets.into_iter().map(|(bound, in_bucket)| {
            count = count.saturating_add(in_bucket);
            (bound, count)
        });
        let buckets: Vec<(f64, u64)> = summed_up.collect();
        let labels = Labels::new(self.to.format, labels.iter().copied());
        if self.to.format == Format::Protobuf {
            self.to.push_to_family(|family| protobuf::histogram(family, &labels.0, &buckets, count, sum));
            return;
        }
        for (bound, count) in buckets {
            self.line("_bucket", &labels, &[("le", &Value(bound).to_string())], count as f64, None);
        }
        self.line("_sum", &labels, &[], sum, None);
        self.line("_count", &labels, &[], count as f64, None);
    }

    fn line(&mut self, suffix: &str, of: &Labels, more: &[(&str, &str)], value: f64, at: Option<Timestamp>) {
        let name = self.name;
        self.to.push(|text| {
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(suffix.as_bytes());
            if !(of.0.is_empty() && more.is_empty()) {
                text.push(b'{');
                text.extend_from_slice(&of.0);
                for (number, (name, value)) in more.iter().enumerate() {
                    text_label(text, number == 0 && of.0.is_empty(), name, value);
                }
                text.push(b'}');
            }
            text.push(b' ');
            Value(value).write(text);
            if let Some(at) = at.map(Timestamp::as_millisecond) {
                text.extend_from_slice(if at < 0 { b" -" } else { b" " });
                whole(text, at.unsigned_abs());
            }
            text.push(b'\n');
        });
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        let (name, help, kind) = (self.name, self.help, self.kind);
        self.to.close();
        match self.to.format {
            Format::Text => self.to.push(|text| {
                let _infallible = write!(text, "# HELP {name} ");
                escape(text, help, false);
                let _infallible = write!(text, "\n# TYPE {name} {}\n", kind.name());
            }),
            Format::Protobuf => self.to.push_to_family(|family| protobuf::begin(family, name, help, kind)),
        }
    }
}

/// A piece of a body that is sent while it is made, as large as what `write` writes; empty without a sample.
pub fn piece(format: Format, write: impl FnOnce(&mut Exposition)) -> Vec<u8> {
    let mut to = Exposition::bounded(format, usize::MAX);
    write(&mut to);
    to.close();
    to.bytes
}

/// What `write` writes, as text; none if it is larger than it may be.
pub fn written(write: impl FnOnce(&mut Exposition)) -> Option<String> {
    let mut to = Exposition::new(Format::Text);
    write(&mut to);
    String::from_utf8(to.finish()?).ok()
}

/// A label's value, or with `with_quotes` off a help, as text has it.
fn escape(text: &mut Vec<u8>, value: &str, with_quotes: bool) {
    let is_plain = |byte: &u8| !matches!(byte, b'\\' | b'\n') && (*byte != b'"' || !with_quotes);
    let mut rest = value.as_bytes();
    while let Some(plain) = rest.iter().position(|byte| !is_plain(byte)) {
        let (before, after) = rest.split_at(plain);
        text.extend_from_slice(before);
        let Some((special, after)) = after.split_first() else { break };
        text.extend_from_slice(&[b'\\', if *special == b'\n' { b'n' } else { *special }]);
        rest = after;
    }
    text.extend_from_slice(rest);
}

/// A figure as text has it.
struct Value(f64);

impl Value {
    /// Most figures are counts and bytes, and whole numbers are written several times faster than others. Prometheus reads plain
    /// decimals and exponents alike.
    fn write(self, text: &mut Vec<u8>) {
        /// Every whole number below is an `f64`.
        const WHOLE_MAX: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
        // The sign of a negative zero is kept.
        if self.0.fract() == 0.0 && self.0.is_sign_positive() && self.0 < WHOLE_MAX {
            whole(text, self.0 as u64);
        } else {
            // Writing to memory doesn't fail.
            let _infallible = write!(text, "{self}");
        }
    }
}

/// A whole number as text has it. A body is mostly these, and `fmt` takes several times as long for one.
fn whole(text: &mut Vec<u8>, number: u64) {
    /// Of the largest number.
    const DIGITS_MAX: usize = 20;
    let (mut digits, mut rest, mut at) = ([b'0'; DIGITS_MAX], number, DIGITS_MAX - 1);
    while rest >= 10 {
        digits[at] += (rest % 10) as u8;
        (rest, at) = (rest / 10, at - 1);
    }
    digits[at] += rest as u8;
    text.extend_from_slice(&digits[at..]);
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            f64::INFINITY => f.write_str("+Inf"),
            f64::NEG_INFINITY => f.write_str("-Inf"),
            value => write!(f, "{value}"),
        }
    }
}
