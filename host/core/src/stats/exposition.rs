//! Metrics as Prometheus reads them: its text format, version 0.0.4, which a kubelet sends, and OpenMetrics 1.0 for clients that ask
//! for it. Names and values of `le` are the same in both, so that a series doesn't depend on who scrapes.

use std::fmt::Write as _;

use jiff::Timestamp;

mod accept;
#[cfg(test)]
mod tests;

/// The format, as a response names it.
pub const TEXT_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=values";
/// The same of the other format.
const OPEN_METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The largest exposition, in bytes; 10,000 series have some 1.5 MB.
pub const EXPOSITION_BYTES_MAX: usize = 16 << 20;

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
    /// As both formats name it.
    pub(super) fn name(self) -> &'static str {
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
    /// OpenMetrics, version 1.0.
    OpenMetrics,
}

impl Format {
    /// What a client prefers that sent these values of `Accept`. Without a preference it is Prometheus' text, also for a client that
    /// takes neither: that is what a kubelet sends.
    pub fn accepted<'a>(accept: impl IntoIterator<Item = &'a str>) -> Self {
        accept::preferred(accept)
    }

    /// As a response names it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => TEXT_CONTENT_TYPE,
            Self::OpenMetrics => OPEN_METRICS_CONTENT_TYPE,
        }
    }
}

/// Metrics that are being written, in bounded space.
#[derive(Debug)]
pub struct Exposition {
    text: String,
    format: Format,
    bytes_max: usize,
    is_cut: bool,
}

impl Exposition {
    /// An empty one, of [`EXPOSITION_BYTES_MAX`] at most.
    pub fn new(format: Format) -> Self {
        Self { text: String::new(), format, bytes_max: EXPOSITION_BYTES_MAX, is_cut: false }
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
        for Family { name, help, kind, samples } in families {
            let mut family = self.family(name, help, *kind);
            for Sample { labels, value, at } in samples {
                let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
                family.line("", labels, *value, *at);
            }
        }
    }

    /// The text; none if it would be larger than it may be.
    pub fn finish(mut self) -> Option<String> {
        if self.format == Format::OpenMetrics {
            self.push(|text| text.push_str("# EOF\n"));
        }
        (!self.is_cut).then_some(self.text)
    }

    /// Writes a whole line, or nothing.
    fn push(&mut self, write: impl FnOnce(&mut String)) {
        if self.is_cut {
            return;
        }
        let before = self.text.len();
        write(&mut self.text);
        if self.text.len() > self.bytes_max {
            self.text.truncate(before);
            self.is_cut = true;
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
        self.line("", labels.iter().copied(), value, None);
    }

    /// A histogram with these labels: of each bucket the inclusive upper bound and the count without those below, in ascending order and
    /// the one without a bound last; and the sum of all observations.
    pub fn histogram(
        &mut self,
        labels: &[(&str, &str)],
        buckets: impl IntoIterator<Item = (f64, u64)>,
        sum: f64,
    ) {
        let mut count = 0_u64;
        for (bound, in_bucket) in buckets {
            count = count.saturating_add(in_bucket);
            let bound = Value(bound).to_string();
            let labels = labels.iter().copied().chain([("le", bound.as_str())]);
            self.line("_bucket", labels, count as f64, None);
        }
        self.line("_sum", labels.iter().copied(), sum, None);
        self.line("_count", labels.iter().copied(), count as f64, None);
    }

    fn line<'l>(
        &mut self,
        suffix: &str,
        labels: impl Iterator<Item = (&'l str, &'l str)>,
        value: f64,
        at: Option<Timestamp>,
    ) {
        self.begin();
        let (name, format) = (self.name, self.to.format);
        self.to.push(|text| {
            text.push_str(name);
            text.push_str(suffix);
            write_labels(text, labels);
            // Writing to a string doesn't fail. Prometheus reads plain decimals and exponents alike.
            let _infallible = write!(text, " {}", Value(value));
            if let Some(at) = at {
                let milliseconds = at.as_millisecond();
                let _infallible = match format {
                    Format::Text => write!(text, " {milliseconds}"),
                    Format::OpenMetrics => write!(text, " {}", milliseconds as f64 / 1e3),
                };
            }
            text.push('\n');
        });
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        let (name, help, format) = (self.name, self.help, self.to.format);
        let kind = self.kind.name();
        let (name, kind) = match (self.kind, format, name.strip_suffix("_total")) {
            (Kind::Counter, Format::OpenMetrics, Some(stem)) => (stem, kind),
            // OpenMetrics has no counters of another name, and the kubelet's keep theirs.
            (Kind::Counter, Format::OpenMetrics, None) => (name, "unknown"),
            (Kind::Counter | Kind::Gauge | Kind::Histogram, ..) => (name, kind),
        };
        self.to.push(|text| {
            let _infallible = write!(text, "# HELP {name} ");
            escape(text, help, format == Format::OpenMetrics);
            let _infallible = write!(text, "\n# TYPE {name} {kind}\n");
        });
    }
}

/// The families as text, in this order, however large it is.
pub fn text(families: &[Family]) -> String {
    let mut exposition = Exposition { bytes_max: usize::MAX, ..Exposition::new(Format::Text) };
    exposition.families(families);
    exposition.text
}

fn write_labels<'l>(text: &mut String, labels: impl Iterator<Item = (&'l str, &'l str)>) {
    let mut is_first = true;
    for (label, value) in labels {
        text.push(if std::mem::take(&mut is_first) { '{' } else { ',' });
        text.push_str(label);
        text.push_str("=\"");
        escape(text, value, true);
        text.push('"');
    }
    if !is_first {
        text.push('}');
    }
}

/// A label's value, or with `with_quotes` off a help, as the formats write it.
pub(super) fn escape(text: &mut String, value: &str, with_quotes: bool) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' if with_quotes => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

/// A figure as both formats have it.
struct Value(f64);

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            f64::INFINITY => f.write_str("+Inf"),
            f64::NEG_INFINITY => f.write_str("-Inf"),
            value => write!(f, "{value}"),
        }
    }
}
