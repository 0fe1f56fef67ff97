//! Which format a client prefers, by `Accept` (RFC 9110, section 12.5.1).

use super::Format;

/// More ranges than this aren't read.
const RANGES_MAX: usize = 32;

/// A range of media types: which, how much it is wanted (0 to 1), and how exactly it says so.
struct Range {
    format: Format,
    quality: f32,
    exactness: u8,
}

/// See [`Format::accepted`].
pub(super) fn preferred<'a>(accept: impl IntoIterator<Item = &'a str>) -> Format {
    let ranges = accept.into_iter().flat_map(|value| value.split(',')).take(RANGES_MAX);
    let ranges: Vec<Range> = ranges.filter_map(range).collect();
    let quality = |format: Format| {
        let of_format = ranges.iter().filter(|range| range.format == format);
        let exactness = of_format.clone().map(|range| range.exactness).max();
        let exact = of_format.filter(|range| Some(range.exactness) == exactness);
        exact.map(|range| range.quality).fold(0.0, f32::max)
    };
    if quality(Format::OpenMetrics) > quality(Format::Text) { Format::OpenMetrics } else { Format::Text }
}

/// None of a range that has neither format. Only one that names OpenMetrics asks for it: `*/*` takes what a kubelet sends.
fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next()?.to_ascii_lowercase();
    let (mut quality, mut version) = (1.0, None);
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim().to_ascii_lowercase().as_str() {
            "q" => quality = value.trim().parse::<f32>().ok().filter(|of| (0.0..=1.0).contains(of))?,
            "version" => version = Some(value.trim().trim_matches('"')),
            _ => {}
        }
    }
    let (format, exactness) = match (media_type.as_str(), version) {
        ("application/openmetrics-text", None | Some("1.0.0")) => (Format::OpenMetrics, 2),
        ("text/plain", None | Some("0.0.4")) => (Format::Text, 2),
        ("text/*", _) => (Format::Text, 1),
        ("*/*", _) => (Format::Text, 0),
        _ => return None,
    };
    Some(Range { format, quality, exactness })
}
