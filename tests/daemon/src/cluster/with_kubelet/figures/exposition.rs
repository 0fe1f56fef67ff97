//! Prometheus' text format, as far as two texts have to be compared.

use std::collections::{BTreeMap, BTreeSet};

/// Samples of families that begin so have their value among what is compared: it is the machine's, or what was set for a cgroup.
const WITH_VALUES: [&str; 2] = ["container_spec_", "machine_"];

/// A family of metrics without its values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Family {
    /// With how stable the family is, such as `[ALPHA] `.
    pub(super) help: String,
    pub(super) kind: String,
    /// Labels of each series, by name; bounds of buckets are left out.
    pub(super) series: BTreeSet<Vec<(String, String)>>,
    /// Bounds of buckets, as they are written: another text is another series.
    pub(super) bounds: BTreeSet<String>,
}

/// All families of a text, by name. What isn't a line of the format is left out.
pub(super) fn parse(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap_or((help, ""));
            families.entry(name.to_owned()).or_default().help = help.to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap_or((kind, ""));
            families.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else if !line.starts_with('#')
            && let Some(Sample { name, mut labels, bound }) = sample(line)
        {
            if WITH_VALUES.iter().any(|begin| name.starts_with(begin)) {
                // One writes large numbers with an exponent, the other without.
                let value = line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
                labels.push(("value".to_owned(), value.map(|value| value.to_string()).unwrap_or_default()));
            }
            let family = family_of(&mut families, name);
            family.series.insert(labels);
            family.bounds.extend(bound);
        }
    }
    families
}

/// A histogram's samples have a name of their own.
fn family_of<'a>(families: &'a mut BTreeMap<String, Family>, sample: &str) -> &'a mut Family {
    let stems = ["_bucket", "_sum", "_count"].into_iter().filter_map(|end| sample.strip_suffix(end));
    let composed = stems.into_iter().find(|stem| {
        families.get(*stem).is_some_and(|family| matches!(family.kind.as_str(), "histogram" | "summary"))
    });
    families.entry(composed.unwrap_or(sample).to_owned()).or_default()
}

/// A line's name and labels, and the bound if it is of a bucket.
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(String, String)>,
    bound: Option<String>,
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let Some((name, rest)) = line.split_once('{') else {
        return line.split_once(' ').map(|(name, _)| Sample { name, labels: Vec::new(), bound: None });
    };
    let (mut labels, mut bound) = (Vec::new(), None);
    let mut rest = rest.trim_start_matches(',');
    while let Some((label, after)) = rest.split_once("=\"") {
        let (value, after) = quoted(after)?;
        match label {
            "le" => bound = Some(value),
            "quantile" => {}
            label => labels.push((label.to_owned(), value)),
        }
        rest = after.trim_start_matches(',');
        if rest.starts_with('}') {
            break;
        }
    }
    labels.sort();
    Some(Sample { name, labels, bound })
}

/// The text up to a quote that isn't escaped, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            char => value.push(char),
        }
    }
    None
}
