//! A duration counts in the first bucket whose bound it doesn't exceed.

use super::*;

#[test]
fn a_duration_counts_in_one_bucket() {
    for (milliseconds, bound) in
        [(0, 0.005), (5, 0.005), (6, 0.01), (1_000, 1.0), (10_000, 10.0), (10_001, f64::INFINITY)]
    {
        let mut histogram = DurationHistogram::default();
        histogram.observe(Duration::from_millis(milliseconds));
        let counted: Vec<f64> =
            histogram.buckets().filter(|(_, count)| *count > 0).map(|(bound, _)| bound).collect();
        assert_eq!(counted, [bound], "{milliseconds} ms");
        assert_eq!((histogram.count(), histogram.sum()), (1, Duration::from_millis(milliseconds)));
    }
}

#[test]
fn two_are_counted_as_one() {
    let of = |milliseconds: &[u64]| {
        let mut histogram = DurationHistogram::default();
        milliseconds.iter().for_each(|took| histogram.observe(Duration::from_millis(*took)));
        histogram
    };
    let mut both = of(&[5, 30, 60_000]);
    both.add(&of(&[1, 70_000]));
    assert_eq!(both, of(&[1, 5, 30, 60_000, 70_000]));
}
