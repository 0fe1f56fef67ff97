//! Families as text.

use super::*;

fn family(kind: Kind, samples: Vec<Sample>) -> Family {
    Family { name: "a_seconds_total", help: "Seconds of a", kind, samples }
}

#[test]
fn families_are_written_as_prometheus_reads_them() {
    let labels = vec![("container", "a\"b\\c\nd".to_owned()), ("pod", "p".to_owned())];
    let at = Timestamp::from_millisecond(1_790_000_000_123).ok();
    let samples = vec![
        Sample { labels, value: 1.5, at },
        Sample { labels: Vec::new(), value: 3.0, at: None },
        Sample { labels: Vec::new(), value: 12_345_678_901.0, at: None },
    ];
    let expected = "\
# HELP a_seconds_total Seconds of a
# TYPE a_seconds_total counter
a_seconds_total{container=\"a\\\"b\\\\c\\nd\",pod=\"p\"} 1.5 1790000000123
a_seconds_total 3
a_seconds_total 12345678901
";
    assert_eq!(text(&[family(Kind::Counter, samples)]), expected);
}

#[test]
fn a_family_without_samples_is_not_written() {
    assert_eq!(text(&[family(Kind::Gauge, Vec::new())]), "");
}
