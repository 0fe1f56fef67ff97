//! Series that are counted and written.

use super::*;

use witlet_core::stats::exposition::Format;

fn text(write: impl FnOnce(&mut Exposition)) -> String {
    let mut exposition = Exposition::new(Format::Text);
    write(&mut exposition);
    exposition.finish().expect("it is small")
}

#[test]
fn counts_are_kept_by_labels() {
    let counters = Counters::new(["code", "type"]);
    assert_eq!(text(|to| counters.write(to, "a_total", "h")), "");
    for values in [["x", "container"], ["", "container"], ["x", "container"]] {
        counters.add(values);
    }
    let expected = "\
# HELP a_total h
# TYPE a_total counter
a_total{code=\"\",type=\"container\"} 1
a_total{code=\"x\",type=\"container\"} 2
";
    assert_eq!(text(|to| counters.write(to, "a_total", "h")), expected);
    // One without labels is there from the start, as a plain metric of upstream's is.
    assert!(text(|to| Counters::new([]).write(to, "a_total", "h")).ends_with("\na_total 0\n"));
}

#[test]
fn durations_are_kept_in_buckets() {
    let durations = Durations::new(["of"], &[0.1, 1.0]);
    for milliseconds in [100, 101, 5_000] {
        durations.observe(["x"], Duration::from_millis(milliseconds));
    }
    let expected = "\
# HELP a h
# TYPE a histogram
a_bucket{of=\"x\",le=\"0.1\"} 1
a_bucket{of=\"x\",le=\"1\"} 2
a_bucket{of=\"x\",le=\"+Inf\"} 3
a_sum{of=\"x\"} 5.201
a_count{of=\"x\"} 3
";
    assert_eq!(text(|to| durations.write(to, "a", "h")), expected);
    // One without labels is there from the start, as a plain metric of upstream's is.
    let plain = text(|to| Durations::new([], &[1.0]).write(to, "a", "h"));
    assert!(
        plain.ends_with("a_bucket{le=\"1\"} 0\na_bucket{le=\"+Inf\"} 0\na_sum 0\na_count 0\n"),
        "{plain}"
    );
}

#[test]
fn series_are_bounded() {
    let (counters, durations) = (Counters::new(["n"]), Durations::new(["n"], DEFAULT_BUCKETS));
    for n in 0..SERIES_MAX * 2 {
        counters.add([&n.to_string()]);
        durations.observe([&n.to_string()], Duration::ZERO);
    }
    counters.add(["0"]);
    durations.observe(["0"], Duration::ZERO);
    let shown = text(|to| counters.write(to, "a_total", "h"));
    assert_eq!(shown.lines().count(), SERIES_MAX + 2);
    assert!(shown.contains("a_total{n=\"0\"} 2\n"), "what is known is counted on");
    let shown = text(|to| durations.write(to, "a", "h"));
    assert_eq!(shown.matches("a_count").count(), SERIES_MAX);
    assert!(shown.contains("a_count{n=\"0\"} 2\n"));
}
