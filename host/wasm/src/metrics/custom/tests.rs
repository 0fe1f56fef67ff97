//! What is counted of a plugin's numbers, and what is left out.

use super::*;

fn labels(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn left_out(metrics: &CustomMetrics) -> Vec<(&'static str, u64)> {
    metrics.numbers().left_out().collect()
}

#[test]
fn what_is_added_to_a_series_is_summed_up_whatever_the_order_of_its_labels() {
    let metrics = CustomMetrics::default();
    metrics.add("denied".to_owned(), labels(&[("rule", "a"), ("kind", "x")]), 2);
    metrics.add("denied".to_owned(), labels(&[("kind", "x"), ("rule", "a")]), u64::MAX);
    metrics.add("denied".to_owned(), Vec::new(), 0);
    let of = |pairs: &[(&str, &str)]| Series { name: "denied".to_owned(), labels: labels(pairs) };
    let expected = [(of(&[]), 0), (of(&[("kind", "x"), ("rule", "a")]), u64::MAX)];
    assert_eq!(metrics.numbers().counters, expected.into());
}

#[test]
fn observations_are_counted_in_the_bucket_that_they_fit_into() {
    let metrics = CustomMetrics::default();
    for value in [0.0, 0.001, 0.0011, 7.0, 1000.0, 1000.5] {
        metrics.observe("size".to_owned(), Vec::new(), value);
    }
    let numbers = metrics.numbers();
    let observations = numbers.histograms.values().next().expect("it is there");
    let counts = observations.counts;
    assert_eq!((counts[0], counts[1], counts[12], counts[18], counts[19]), (2, 1, 1, 1, 1));
    assert!((observations.sum - 2007.5021).abs() < 1e-9, "{}", observations.sum);
    assert!(BUCKETS.is_sorted());
}

#[test]
fn what_is_beyond_the_bounds_is_left_out_and_counted() {
    let (long, longer) = ("x".repeat(64), "x".repeat(65));
    let names = ["", "1st", "_a", "A", "a-b", "a.b", "größe", "a\n", &longer];
    let metrics = CustomMetrics::default();
    for name in names {
        metrics.add(name.to_owned(), Vec::new(), 1);
    }
    for name in ["a_total", "a_bucket", "a_sum", "a_count"] {
        metrics.observe(name.to_owned(), Vec::new(), 1.0);
    }
    assert_eq!(left_out(&metrics), [("name", names.len() as u64 + 4)]);
    let key = "k".repeat(33);
    let bad: [&[(&str, &str)]; 7] = [
        &[("plugin", "other")],
        &[("le", "1")],
        &[("Key", "x")],
        &[("a", "1"), ("a", "2")],
        &[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")],
        &[("a", &longer)],
        &[(&key, "")],
    ];
    for pairs in bad {
        metrics.add("a".to_owned(), labels(pairs), 1);
    }
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        metrics.observe("a".to_owned(), Vec::new(), value);
    }
    assert_eq!(left_out(&metrics)[1..], [("labels", 7), ("value", 3)]);
    assert!(metrics.numbers().counters.is_empty() && metrics.numbers().histograms.is_empty());
    metrics.add(long.clone(), labels(&[("a", &long), ("b", ""), ("c", ""), (&key[1..], "")]), 1);
    metrics.add("a_total".to_owned(), Vec::new(), 1);
    assert_eq!(metrics.numbers().counters.len(), 2, "at the bounds");
}

#[test]
fn a_plugin_has_a_bounded_number_of_series() {
    let metrics = CustomMetrics::default();
    for number in 0..SERIES_MAX {
        metrics.add("a".to_owned(), labels(&[("pod", &number.to_string())]), 1);
    }
    metrics.add("a".to_owned(), labels(&[("pod", "0")]), 1);
    assert!(left_out(&metrics).is_empty());
    metrics.add("a".to_owned(), labels(&[("pod", "new")]), 1);
    metrics.observe("b".to_owned(), Vec::new(), 1.0);
    assert_eq!(left_out(&metrics), [("series", 2)]);
    assert_eq!(metrics.numbers().counters.values().sum::<u64>(), SERIES_MAX as u64 + 1);
}
