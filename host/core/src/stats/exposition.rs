//! Metrics as Prometheus reads them, in the two formats that a kubelet sends: text, version 0.0.4, and delimited messages of Protocol
//! Buffers for clients that prefer those. Names, labels and bounds of buckets are the same in both, so that a series doesn't depend on who
//! scrapes.

use std::collections::BTreeMap;
use std::io::Write as _;

use jiff::Timestamp;

mod accept;
mod protobuf;
#[cfg(test)]
mod tests;
mod text;

use crate::go;
pub use accept::Negotiated;
use text::{Value, WrittenTime, escape, label, pair, seconds};

/// The largest exposition, in bytes; 10,000 series have some 1.5 MB.
pub const EXPOSITION_BYTES_MAX: usize = 16 << 20;

/// Counts observations that were dropped because their family has its maximum of series; only such families have a series of it.
const DROPPED: &str = "witlet_metrics_observations_dropped_total";
const DROPPED_HELP: &str = "Observations that were dropped because their family has its maximum of series";

/// What a line of text has besides its name and shared labels, in most cases.
const LINE_MORE: usize = 96;
/// What ends the labels of a line of text.
const LABELS_END: &[u8] = b"} ";
/// What a label has besides its name and value in either format, in most cases.
const LABEL_MORE: usize = 10;

/// What the figures of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until what it counts begins again.
    Counter,
    /// It goes up and down.
    Gauge,
    Histogram,
}

impl Kind {
    /// Returns the name as text names it.
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

/// Labels as a format writes them, for those that are written again and again: in text with the brackets around them and the space after
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<u8>);

impl Labels {
    /// These, in this order.
    pub fn new<'l, L>(format: Format, labels: L) -> Self
    where
        L: IntoIterator<Item = (&'l str, &'l str), IntoIter: Clone>,
    {
        let labels = labels.into_iter();
        let bytes = labels.clone().map(|(name, value)| name.len() + value.len() + LABEL_MORE).sum();
        let mut written = Vec::with_capacity(bytes);
        match format {
            Format::Text => {
                for (name, value) in labels {
                    label(&mut written, name, value);
                }
                if !written.is_empty() {
                    written.extend_from_slice(LABELS_END);
                }
            }
            Format::Protobuf => labels.for_each(|(name, value)| protobuf::label(&mut written, name, value)),
        }
        Self(written)
    }

    /// The labels of a line of text, with these after them.
    fn line(&self, text: &mut Vec<u8>, more: &[(&str, &str)]) {
        match (self.0.strip_suffix(LABELS_END), more) {
            (None, []) => text.push(b' '),
            (Some(_), []) => text.extend_from_slice(&self.0),
            (own, more) => {
                let begin = text.len();
                text.extend_from_slice(own.unwrap_or_default());
                let is_first = text.len() == begin;
                for (number, (name, value)) in more.iter().enumerate() {
                    text.push(if is_first && number == 0 { b'{' } else { b',' });
                    pair(text, name, value);
                }
                text.extend_from_slice(LABELS_END);
            }
        }
    }
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
    /// The time that was written last: figures that follow each other mostly have the same.
    time: WrittenTime,
    /// By the name of the family that had no capacity.
    dropped: BTreeMap<&'static str, u64>,
}

impl Exposition {
    /// An empty one, of [`EXPOSITION_BYTES_MAX`] at most.
    pub fn new(format: Format) -> Self {
        Self::bounded(format, EXPOSITION_BYTES_MAX)
    }

    fn bounded(format: Format, bytes_max: usize) -> Self {
        Self::over(format, bytes_max, Vec::new())
    }

    fn over(format: Format, bytes_max: usize, bytes: Vec<u8>) -> Self {
        let (family, time, dropped) = (Vec::new(), WrittenTime::default(), BTreeMap::new());
        Self { bytes, family, format, bytes_max, is_cut: false, time, dropped }
    }

    /// How it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Begins a family: `name` is its name, as it is written, and `help` one line. Without a sample it isn't written.
    pub fn family<'a>(&'a mut self, name: &'a str, help: &'a str, kind: Kind) -> FamilyWriter<'a> {
        FamilyWriter { to: self, name, help, kind, is_begun: false }
    }

    /// Goes on with a family that the piece before began; in text alone, whose families have no length.
    pub(crate) fn rest_of_family<'a>(&'a mut self, name: &'a str) -> FamilyWriter<'a> {
        FamilyWriter { to: self, name, help: "", kind: Kind::Gauge, is_begun: true }
    }

    /// The bytes of complete lines and messages so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
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

    /// A family left out so many observations since its beginning, because it has its maximum of series. They are shown at the end, in a
    /// family of their own.
    pub fn dropped(&mut self, family: &'static str, observations: u64) {
        if observations > 0 {
            *self.dropped.entry(family).or_default() += observations;
        }
    }

    /// Returns all that was written; none if it would be larger than it may be.
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
            Format::Text => self.line("", of, more, at, |text| Value(value).write(text)),
            Format::Protobuf => self.message(of, more, value, at),
        }
    }

    /// The same of a time, which is shown in seconds.
    pub fn seconds_of(
        &mut self,
        of: &Labels,
        more: &[(&str, &str)],
        nanoseconds: u64,
        at: Option<Timestamp>,
    ) {
        self.begin();
        match self.to.format {
            Format::Text => self.line("", of, more, at, |text| seconds(text, nanoseconds)),
            Format::Protobuf => self.message(of, more, nanoseconds as f64 / 1e9, at),
        }
    }

    /// Whether something was written of it.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Returns what it is written to.
    pub(crate) fn written_to(&self) -> &Exposition {
        self.to
    }

    fn message(&mut self, of: &Labels, more: &[(&str, &str)], value: f64, at: Option<Timestamp>) {
        let (kind, at) = (self.kind, at.map(Timestamp::as_millisecond));
        self.to.push_to_family(|family| protobuf::figure(family, kind, (&of.0, more), value, at));
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
            let bound = go::float(bound);
            self.line("_bucket", &labels, &[("le", &bound)], None, |text| Value(count as f64).write(text));
        }
        self.line("_sum", &labels, &[], None, |text| Value(sum).write(text));
        self.line("_count", &labels, &[], None, |text| Value(count as f64).write(text));
    }

    fn line(
        &mut self,
        suffix: &str,
        of: &Labels,
        more: &[(&str, &str)],
        at: Option<Timestamp>,
        value: impl FnOnce(&mut Vec<u8>),
    ) {
        let (name, Exposition { bytes: text, bytes_max, is_cut, time, .. }) = (self.name, &mut *self.to);
        if *is_cut {
            return;
        }
        let before = text.len();
        // Most lines fit into it, so that the pieces below fit.
        text.reserve(name.len() + of.0.len() + LINE_MORE);
        text.extend_from_slice(name.as_bytes());
        if !suffix.is_empty() {
            text.extend_from_slice(suffix.as_bytes());
        }
        of.line(text, more);
        value(text);
        match at {
            Some(at) => text.extend_from_slice(time.line_end(at.as_millisecond())),
            None => text.push(b'\n'),
        }
        if text.len() > *bytes_max {
            text.truncate(before);
            *is_cut = true;
        }
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

/// The same, in space for so many bytes.
pub(crate) fn piece_in<T>(
    format: Format,
    bytes: usize,
    write: impl FnOnce(&mut Exposition) -> T,
) -> (Vec<u8>, T) {
    let mut to = Exposition::over(format, usize::MAX, Vec::with_capacity(bytes));
    let result = write(&mut to);
    to.close();
    (to.bytes, result)
}

/// Returns what `write` writes, as text; none if it is larger than it may be.
pub fn written(write: impl FnOnce(&mut Exposition)) -> Option<String> {
    let mut to = Exposition::new(Format::Text);
    write(&mut to);
    String::from_utf8(to.finish()?).ok()
}
