//! An observation counts in the first bucket whose bound it doesn't exceed.

use super::*;

#[test]
fn an_observation_counts_in_one_bucket() {
    for (value, bound) in
        [(0.0, 0.005), (0.005, 0.005), (0.006, 0.01), (1.0, 1.0), (10.0, 10.0), (10.001, f64::INFINITY)]
    {
        let mut histogram = Histogram::default();
        histogram.observe(value);
        let counted: Vec<f64> =
            histogram.buckets().filter(|(_, count)| *count > 0).map(|(bound, _)| bound).collect();
        assert_eq!(counted, [bound], "{value}");
        assert_eq!((histogram.count(), histogram.sum()), (1, value));
    }
}

#[test]
fn two_are_counted_as_one() {
    let of = |values: &[f64]| {
        let mut histogram = Histogram::new(&[5.0, 100.0]);
        values.iter().for_each(|value| histogram.observe(*value));
        histogram
    };
    let mut both = of(&[5.0, 30.0, 600.0]);
    both.add(&of(&[1.0, 700.0]));
    assert_eq!(both, of(&[1.0, 5.0, 30.0, 600.0, 700.0]));
}
