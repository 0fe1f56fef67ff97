//! Families as text.

use super::*;

fn family(kind: Kind, samples: Vec<Sample>) -> Family {
    Family { name: "a_seconds_total", help: "Seconds of a", kind, samples }
}

fn written(format: Format, write: impl FnOnce(&mut Exposition)) -> String {
    let mut exposition = Exposition::new(format);
    write(&mut exposition);
    exposition.finish().expect("it is small")
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
    assert_eq!(text(&families), expected);
    assert_eq!(written(Format::Text, |to| to.families(&families)), expected);
    let expected = "\
# HELP a_seconds Seconds of a
# TYPE a_seconds counter
a_seconds_total{container=\"a\\\"b\\\\c\\nd\",pod=\"p\"} 1.5 1790000000.123
a_seconds_total 3
a_seconds_total 12345678901
# EOF
";
    assert_eq!(written(Format::OpenMetrics, |to| to.families(&families)), expected);
}

#[test]
fn a_family_without_samples_is_not_written() {
    let families = [family(Kind::Gauge, Vec::new())];
    assert_eq!(text(&families), "");
    assert_eq!(written(Format::OpenMetrics, |to| to.families(&families)), "# EOF\n");
}

#[test]
fn a_counter_keeps_its_name_in_both_formats() {
    let cases = [
        ("kubelet_evictions", Format::Text, "kubelet_evictions counter"),
        ("kubelet_evictions", Format::OpenMetrics, "kubelet_evictions unknown"),
        ("kubelet_started_pods_total", Format::Text, "kubelet_started_pods_total counter"),
        ("kubelet_started_pods_total", Format::OpenMetrics, "kubelet_started_pods counter"),
    ];
    for (name, format, kind) in cases {
        let text = written(format, |to| to.counter(name, "h", 2));
        assert!(text.contains(&format!("# TYPE {kind}\n")), "{text}");
        assert!(text.contains(&format!("\n{name} 2\n")), "{text}");
    }
}

#[test]
fn help_is_escaped_as_its_format_has_it() {
    for (format, expected) in [
        (Format::Text, "# HELP a a\\\\b\\nc \"d\"\n"),
        (Format::OpenMetrics, "# HELP a a\\\\b\\nc \\\"d\\\"\n"),
    ] {
        let text = written(format, |to| to.gauge("a", "a\\b\nc \"d\"", 1.0));
        assert!(text.starts_with(expected), "{text}");
    }
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
        let text = written(Format::Text, |to| to.gauge("a", "h", value));
        assert!(text.ends_with(&format!("\na {expected}\n")), "{text}");
    }
}

#[test]
fn the_buckets_of_a_histogram_are_summed_up() {
    let buckets = [(0.005, 1), (1.0, 0), (2.5, 3), (f64::INFINITY, 2)];
    let text = written(Format::Text, |to| {
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
    let fill = |lines: usize| {
        let mut exposition = Exposition { bytes_max: 200, ..Exposition::new(Format::Text) };
        let mut family = exposition.family("a", "h", Kind::Gauge);
        for _ in 0..lines {
            family.sample(&[("label", "0123456789")], 1.0);
        }
        exposition
    };
    assert!(fill(3).finish().is_some());
    let cut = fill(1000);
    assert!(cut.text.len() <= 200, "{}", cut.text);
    assert_eq!(cut.finish(), None);
}

#[test]
fn open_metrics_is_for_clients_that_ask_for_it() {
    let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
                      text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    let cases: [(&[&str], Format); 15] = [
        (&[], Format::Text),
        (&[""], Format::Text),
        (&["*/*"], Format::Text),
        (&["application/json"], Format::Text),
        (&["text/plain"], Format::Text),
        (&["application/openmetrics-text"], Format::OpenMetrics),
        (&["Application/OpenMetrics-Text; Version=1.0.0; Q=0.9"], Format::OpenMetrics),
        (&["application/openmetrics-text; version=\"1.0.0\""], Format::OpenMetrics),
        (&["application/openmetrics-text; version=9.0.0"], Format::Text),
        (&["application/openmetrics-text; q=0"], Format::Text),
        (&["application/openmetrics-text; q=x"], Format::Text),
        (&["application/openmetrics-text;q=0.5, text/plain;q=0.5"], Format::Text),
        (&["application/openmetrics-text;q=0.5, text/plain;q=0.1, */*"], Format::OpenMetrics),
        (&["text/plain;q=0.1", "application/openmetrics-text;q=0.5"], Format::OpenMetrics),
        (&[prometheus], Format::OpenMetrics),
    ];
    for (accept, format) in cases {
        assert_eq!(Format::accepted(accept.iter().copied()), format, "{accept:?}");
    }
    let many = vec!["text/plain;q=0.1"; 1000].join(",") + ",application/openmetrics-text";
    assert_eq!(Format::accepted([many.as_str()]), Format::Text, "what is beyond the bound isn't read");
    assert_eq!(Format::Text.content_type(), TEXT_CONTENT_TYPE);
}
