//! Families as text.

use proptest::prelude::*;

use super::*;

fn family(kind: Kind, samples: Vec<Sample>) -> Family {
    Family { name: "a_seconds_total", help: "Seconds of a", kind, samples }
}

fn text(write: impl FnOnce(&mut Exposition)) -> String {
    written(write).expect("it is small")
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
    let families = [family(Kind::Counter, samples)];
    let expected = "\
# HELP a_seconds_total Seconds of a
# TYPE a_seconds_total counter
a_seconds_total{container=\"a\\\"b\\\\c\\nd\",pod=\"p\"} 1.5 1790000000123
a_seconds_total 3
a_seconds_total 12345678901
";
    assert_eq!(text(|to| to.families(&families)), expected);
    assert_eq!(piece(Format::Text, |to| to.families(&families)), expected.as_bytes());
}

#[test]
fn a_family_without_samples_is_not_written() {
    let families = [family(Kind::Gauge, Vec::new())];
    for format in [Format::Text, Format::Protobuf] {
        assert_eq!(piece(format, |to| to.families(&families)), b"");
    }
}

#[test]
fn a_counter_keeps_its_name() {
    for name in ["kubelet_evictions", "kubelet_started_pods_total"] {
        let text = text(|to| to.counter(name, "h", 2));
        assert_eq!(text, format!("# HELP {name} h\n# TYPE {name} counter\n{name} 2\n"));
    }
}

#[test]
fn help_is_escaped_without_quotes() {
    let text = text(|to| to.gauge("a", "a\\b\nc \"d\"", 1.0));
    assert!(text.starts_with("# HELP a a\\\\b\\nc \"d\"\n"), "{text}");
}

#[test]
fn labels_that_are_written_before_come_first() {
    for format in [Format::Text, Format::Protobuf] {
        let of = Labels::new(format, [("a", "1"), ("b", "\"")]);
        let shared =
            piece(format, |to| to.family("m", "h", Kind::Gauge).sample_of(&of, &[("c", "3")], 1.0, None));
        let labels = [("a", "1"), ("b", "\""), ("c", "3")];
        assert_eq!(shared, piece(format, |to| to.family("m", "h", Kind::Gauge).sample(&labels, 1.0)));
    }
}

#[test]
fn messages_have_the_bytes_of_the_format() {
    let at = Timestamp::from_millisecond(-1).ok();
    let samples = vec![Sample { labels: vec![("l", "v".to_owned())], value: 1.5, at }];
    let families = [Family { name: "n", help: "h", kind: Kind::Counter, samples }];
    let mut figure = vec![0x22, 30];
    figure.extend([0x0a, 6, 0x0a, 1, b'l', 0x12, 1, b'v']);
    figure.extend([0x1a, 9, 0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    figure.extend([0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    let mut expected = vec![0x0a, 1, b'n', 0x12, 1, b'h', 0x18, 0];
    expected.extend(figure);
    expected.insert(0, u8::try_from(expected.len()).expect("it is short"));
    assert_eq!(piece(Format::Protobuf, |to| to.families(&families)), expected);
}

#[test]
fn figures_are_written_as_both_formats_have_them() {
    for (value, expected) in [
        (0.0, "0"),
        (-2.5, "-2.5"),
        (0.000_025, "0.000025"),
        (f64::INFINITY, "+Inf"),
        (f64::NEG_INFINITY, "-Inf"),
        (f64::NAN, "NaN"),
    ] {
        let text = text(|to| to.gauge("a", "h", value));
        assert!(text.ends_with(&format!("\na {expected}\n")), "{text}");
    }
}

#[test]
fn the_buckets_of_a_histogram_are_summed_up() {
    let buckets = [(0.005, 1), (1.0, 0), (2.5, 3), (1_048_576.0, 0), (f64::INFINITY, 2)];
    let text = text(|to| {
        let mut family = to.family("a_seconds", "h", Kind::Histogram);
        family.histogram(&[("operation_type", "create")], buckets, 30.5);
        family.histogram(&[], [(f64::INFINITY, 0)], 0.0);
    });
    let expected = "\
# HELP a_seconds h
# TYPE a_seconds histogram
a_seconds_bucket{operation_type=\"create\",le=\"0.005\"} 1
a_seconds_bucket{operation_type=\"create\",le=\"1\"} 1
a_seconds_bucket{operation_type=\"create\",le=\"2.5\"} 4
a_seconds_bucket{operation_type=\"create\",le=\"1.048576e+06\"} 4
a_seconds_bucket{operation_type=\"create\",le=\"+Inf\"} 6
a_seconds_sum{operation_type=\"create\"} 30.5
a_seconds_count{operation_type=\"create\"} 6
a_seconds_bucket{le=\"+Inf\"} 0
a_seconds_sum 0
a_seconds_count 0
";
    assert_eq!(text, expected);
}

#[test]
fn an_exposition_that_is_too_large_is_none() {
    for format in [Format::Text, Format::Protobuf] {
        let fill = |lines: usize| {
            let mut exposition = Exposition::bounded(format, 200);
            let mut family = exposition.family("a", "h", Kind::Gauge);
            for _ in 0..lines {
                family.sample(&[("label", "0123456789")], 1.0);
            }
            exposition
        };
        assert!(fill(3).finish().is_some());
        let cut = fill(1000);
        assert!(cut.bytes.len() + cut.family.len() <= 300, "{format:?}");
        assert_eq!(cut.finish(), None, "{format:?}");
    }
}

#[test]
fn a_format_is_negotiated_as_a_kubelet_does() {
    let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
                      text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    let message =
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let with_histograms = format!("{message};q=0.7,{prometheus}");
    let worse = format!("{message};q=0.1,text/plain;q=0.5");
    let undesired = format!("{message};q=0");
    let (text, underscores, utf_8) = (Format::Text, "underscores", "allow-utf-8");
    for (accept, format, escaping) in [
        (None, text, underscores),
        (Some(""), text, underscores),
        (Some("*/*"), text, underscores),
        (Some("application/json"), text, underscores),
        (Some("text/plain"), text, underscores),
        (Some("text/plain;version=0.0.4;escaping=dots"), text, "dots"),
        (Some("text/plain;escaping=other"), text, underscores),
        (Some("application/openmetrics-text"), text, underscores),
        // What a Prometheus without further configuration sends: a kubelet has no OpenMetrics for it.
        (Some(prometheus), text, utf_8),
        (Some(&with_histograms), Format::Protobuf, underscores),
        (Some(message), Format::Protobuf, underscores),
        (Some(&worse), text, underscores),
        (Some(&undesired), text, underscores),
        (Some("application/vnd.google.protobuf;proto=other;encoding=delimited"), text, underscores),
        (
            Some("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text"),
            text,
            underscores,
        ),
    ] {
        let negotiated = Negotiated::of(accept);
        assert_eq!(negotiated.format, format, "{accept:?}");
        assert!(negotiated.content_type().ends_with(&format!("; escaping={escaping}")), "{accept:?}");
    }
    let many = vec!["text/plain;q=0.1"; 1000].join(",") + "," + message;
    assert_eq!(Negotiated::of(Some(&many)).format, text, "what is beyond the bound isn't read");
}

#[test]
fn whole_numbers_are_written_as_all_others() {
    for value in [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        -1e18,
        1e19,
        1e20,
        1e300,
    ] {
        let mut text = Vec::new();
        Value(value).write(&mut text);
        assert_eq!(String::from_utf8(text).ok(), Some(value.to_string()));
    }
    for (value, expected) in [(f64::INFINITY, "+Inf"), (f64::NEG_INFINITY, "-Inf"), (f64::NAN, "NaN")] {
        let mut text = Vec::new();
        Value(value).write(&mut text);
        assert_eq!(text, expected.as_bytes());
    }
}

#[test]
fn times_of_figures_are_written_as_numbers() {
    let shown = text(|to| {
        let mut family = to.family("before", "The epoch", Kind::Gauge);
        for at in [-1_500, 1_790_000_000_123, 1_790_000_000_123, 0] {
            family.sample_of(&Labels::default(), &[], -0.0, Timestamp::from_millisecond(at).ok());
        }
    });
    let end = "\nbefore -0 -1500\nbefore -0 1790000000123\nbefore -0 1790000000123\nbefore -0 0\n";
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn nanoseconds_are_written_as_seconds() {
    for (nanoseconds, expected) in [
        (0, "0"),
        (1, "0.000000001"),
        (1_500_000_000, "1.5"),
        (2_000_000_000, "2"),
        (10_000_000_100, "10.0000001"),
        (u64::MAX, "18446744073.709551615"),
    ] {
        let shown = text(|to| {
            to.family("a", "h", Kind::Counter).seconds_of(&Labels::default(), &[], nanoseconds, None)
        });
        assert!(shown.ends_with(&format!("\na {expected}\n")), "{shown}");
        let message = |write: fn(&mut FamilyWriter<'_>, u64)| {
            piece(Format::Protobuf, |to| write(&mut to.family("a", "h", Kind::Counter), nanoseconds))
        };
        assert_eq!(
            message(|family, nanoseconds| family.seconds_of(&Labels::default(), &[], nanoseconds, None)),
            message(|family, nanoseconds| family.sample(&[], nanoseconds as f64 / 1e9)),
        );
    }
}

proptest! {
    /// What Prometheus reads is what the number was.
    #[test]
    fn seconds_are_read_as_the_nearest_number(nanoseconds in 0..1_u64 << 53) {
        let mut text = Vec::new();
        seconds(&mut text, nanoseconds);
        let read: f64 = String::from_utf8(text).expect("digits").parse().expect("a number");
        prop_assert_eq!(read, nanoseconds as f64 / 1e9);
    }
}
