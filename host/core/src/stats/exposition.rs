//! Metrics in the text format of Prometheus, version 0.0.4. Unlike the library of the agent's own metrics this one can say when a
//! sample was taken.

use std::fmt::Write as _;

use jiff::Timestamp;

#[cfg(test)]
mod tests;

/// The format, as a response names it.
pub const TEXT_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=values";

/// What the figures of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until what it counts begins again.
    Counter,
    /// It goes up and down.
    Gauge,
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

/// The families as text, in this order.
pub fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let Family { name, help, kind, samples } = family;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for sample in samples {
            write_sample(&mut text, name, sample);
        }
    }
    text
}

fn write_sample(text: &mut String, name: &str, sample: &Sample) {
    text.push_str(name);
    for (place, (label, value)) in sample.labels.iter().enumerate() {
        text.push(if place == 0 { '{' } else { ',' });
        text.push_str(label);
        text.push_str("=\"");
        escape(text, value);
        text.push('"');
    }
    if !sample.labels.is_empty() {
        text.push('}');
    }
    // Writing to a string doesn't fail. Prometheus reads plain decimals and exponents alike.
    let _infallible = write!(text, " {}", sample.value);
    if let Some(at) = sample.at {
        let _infallible = write!(text, " {}", at.as_millisecond());
    }
    text.push('\n');
}

fn escape(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}
