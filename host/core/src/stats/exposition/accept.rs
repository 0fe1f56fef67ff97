//! Which format a client prefers, by `Accept`, as a kubelet chooses (upstream: `expfmt.Negotiate` of Prometheus' libraries, which doesn't
//! offer OpenMetrics there).

use super::Format;

/// More ranges than this aren't read.
const RANGES_MAX: usize = 32;
/// The message that a body is made of.
const MESSAGE: &str = "io.prometheus.client.MetricFamily";
/// How names are changed that a client may not know how to read; there are none, but a response says so.
const ESCAPINGS: [&str; 4] = ["allow-utf-8", "underscores", "dots", "values"];
/// Of a client that names none.
const ESCAPING_DEFAULT: &str = "underscores";

/// What a client and a server agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    pub format: Format,
    escaping: &'static str,
}

/// A range of media types: which format of ours it names, if any, and how much it is preferred (0 to 1).
#[derive(Default)]
struct Range {
    format: Option<Format>,
    escaping: Option<&'static str>,
    quality: f32,
}

impl Negotiated {
    /// What a client prefers that sent this value of `Accept`. Without a preference, and for a client that takes neither format, it is
    /// text.
    pub fn of(accept: Option<&str>) -> Self {
        let ranges = accept.unwrap_or_default().split(',').take(RANGES_MAX);
        let mut ranges: Vec<Range> = ranges.map(range).filter(|range| range.quality > 0.0).collect();
        ranges.sort_by(|one, other| other.quality.total_cmp(&one.quality));
        let mut agreed = Self { format: Format::Text, escaping: ESCAPING_DEFAULT };
        for Range { format, escaping, .. } in ranges {
            agreed.escaping = escaping.unwrap_or(agreed.escaping);
            if let Some(format) = format {
                return Self { format, ..agreed };
            }
        }
        agreed
    }

    /// Returns the text as a response names it.
    pub fn content_type(&self) -> String {
        let Self { format, escaping } = self;
        match format {
            Format::Text => format!("text/plain; version=0.0.4; charset=utf-8; escaping={escaping}"),
            Format::Protobuf => {
                format!(
                    "application/vnd.google.protobuf; proto={MESSAGE}; encoding=delimited; escaping={escaping}"
                )
            }
        }
    }
}

fn range(text: &str) -> Range {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let mut range = Range { quality: 1.0, ..Range::default() };
    let (mut version, mut message, mut encoding) = (None, None, None);
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let value = value.trim();
        match name.trim() {
            "q" => range.quality = value.parse().ok().filter(|of| (0.0..=1.0).contains(of)).unwrap_or(0.0),
            "escaping" => range.escaping = ESCAPINGS.into_iter().find(|known| *known == value),
            "version" => version = Some(value),
            "proto" => message = Some(value),
            "encoding" => encoding = Some(value),
            _ => {}
        }
    }
    range.format = match (media_type, version) {
        ("text/plain", None | Some("" | "0.0.4")) => Some(Format::Text),
        ("application/vnd.google.protobuf", _) => {
            (message == Some(MESSAGE) && encoding == Some("delimited")).then_some(Format::Protobuf)
        }
        _ => None,
    };
    range
}
