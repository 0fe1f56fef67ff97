//! Series that are counted and written.

use super::*;

use witlet_core::stats::exposition::written;

fn text(write: impl FnOnce(&mut Exposition)) -> String {
    written(write).expect("it is small")
}

#[test]
fn counts_are_kept_by_labels() {
    let counters = Counters::new("a_total", "h", ["code", "type"]);
    assert_eq!(text(|to| counters.write(to)), "");
    for values in [["x", "container"], ["", "container"], ["x", "container"]] {
        counters.add(values);
    }
    let expected = "\
# HELP a_total h
# TYPE a_total counter
a_total{code=\"\",type=\"container\"} 1
a_total{code=\"x\",type=\"container\"} 2
";
    assert_eq!(text(|to| counters.write(to)), expected);
    // One without labels is there from the start, as a plain metric of upstream's is.
    assert!(text(|to| Counters::new("a_total", "h", []).write(to)).ends_with("\na_total 0\n"));
    let known = Counters::new("a_total", "h", ["code"]).from_zero([["x"], [""]]);
    known.add(["x"]);
    assert!(text(|to| known.write(to)).ends_with("\na_total{code=\"\"} 0\na_total{code=\"x\"} 1\n"));
}

#[test]
fn observations_are_kept_in_buckets() {
    let durations = Histograms::new("a", "h", ["of"], &[0.1, 1.0]);
    for milliseconds in [100, 101, 5_000] {
        durations.observe_duration(["x"], Duration::from_millis(milliseconds));
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
    assert_eq!(text(|to| durations.write(to)), expected);
    // One without labels is there from the start, as a plain metric of upstream's is.
    let plain = text(|to| Histograms::new("a", "h", [], &[1.0]).write(to));
    assert!(
        plain.ends_with("a_bucket{le=\"1\"} 0\na_bucket{le=\"+Inf\"} 0\na_sum 0\na_count 0\n"),
        "{plain}"
    );
}

#[test]
fn series_are_bounded() {
    let (counters, durations) =
        (Counters::new("a_total", "h", ["n"]), Histograms::new("a", "h", ["n"], DEFAULT_BUCKETS));
    for n in 0..SERIES_MAX * 2 {
        counters.add([&n.to_string()]);
        durations.observe_duration([&n.to_string()], Duration::ZERO);
    }
    counters.add(["0"]);
    durations.observe_duration(["0"], Duration::ZERO);
    let shown = text(|to| counters.write(to));
    assert_eq!(shown.lines().filter(|line| line.starts_with("a_total{")).count(), SERIES_MAX);
    assert!(shown.contains("a_total{n=\"0\"} 2\n"), "what is known is counted on");
    let shown = text(|to| durations.write(to));
    assert_eq!(shown.matches("a_count").count(), SERIES_MAX);
    assert!(shown.contains("a_count{n=\"0\"} 2\n"));
}

#[test]
fn what_a_full_family_does_not_count_is_counted_by_family() {
    let dropped = "witlet_metrics_observations_dropped_total";
    let (counters, durations) =
        (Counters::new("a_total", "h", ["n"]), Histograms::new("b", "h", ["n"], &[1.0]));
    let shown = || {
        text(|to| {
            counters.write(to);
            durations.write(to);
        })
    };
    for n in 0..SERIES_MAX {
        counters.add([&n.to_string()]);
        durations.observe([&n.to_string()], 1.0);
    }
    assert!(!shown().contains(dropped), "all had capacity");
    for _ in 0..2 {
        counters.add(["more"]);
    }
    durations.observe(["more"], 1.0);
    let full = shown();
    let lines: Vec<&str> = full.lines().filter(|line| line.starts_with(dropped)).collect();
    assert_eq!(lines, [format!("{dropped}{{family=\"a_total\"}} 2"), format!("{dropped}{{family=\"b\"}} 1")]);
    // The heading is there once, and after all other families.
    assert_eq!(full.matches(&format!("# TYPE {dropped} counter\n")).count(), 1);
    assert!(full.find("# TYPE b ") < full.find(&format!("# TYPE {dropped} ")), "{full}");
}

#[test]
fn a_figure_is_shown_from_the_start_and_can_be_kept() {
    let gauge = Gauge::new("a", "h");
    let shown = || text(|to| gauge.write(to));
    assert!(shown().ends_with("\na 0\n"));
    assert!(gauge.set_once(2.5) && !gauge.set_once(3.0));
    assert!(shown().ends_with("\na 2.5\n"));
    gauge.set(0.0);
    assert!(shown().ends_with("\na 0\n"));
}
