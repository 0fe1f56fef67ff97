//! Whether something grows from call to call.

/// How far the line through the points has to explain them for a growth to count: memory that is taken once and kept doesn't
/// lie on a line.
const FIT_MIN: f64 = 0.9;
/// Fewer calls of one instance say nothing about what it keeps.
pub(crate) const CALLS_MIN: usize = 40;

/// A straight line through numbers that were measured one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// How much more each is than the one before.
    pub(crate) slope: f64,
    /// How much of the differences the line explains, from 0 to 1.
    pub(crate) fit: f64,
}

/// By least squares. None of fewer than two numbers.
pub(crate) fn trend(numbers: &[f64]) -> Option<Trend> {
    if numbers.len() < 2 {
        return None;
    }
    let count = numbers.len() as f64;
    let mean_x = (count - 1.0) / 2.0;
    let mean_y = numbers.iter().sum::<f64>() / count;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, number) in numbers.iter().enumerate() {
        let (x, y) = (index as f64 - mean_x, number - mean_y);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let fit = if yy == 0.0 { 0.0 } else { xy * xy / (xx * yy) };
    Some(Trend { slope: xy / xx, fit })
}

/// How much is added with each call, if something is. Numbers fall where another instance has taken the place of one that has
/// grown too large: the longest stretch without a fall is looked at, and of that the second half, for the first calls of an
/// instance fill what is kept for all later ones.
pub(crate) fn growth(numbers: &[f64]) -> Option<f64> {
    let stretches = numbers.chunk_by(|before, after| after >= before);
    let stretch =
        stretches.max_by_key(|stretch| stretch.len()).filter(|stretch| stretch.len() >= CALLS_MIN)?;
    let trend = trend(&stretch[stretch.len() / 2..])?;
    (trend.slope > 0.0 && trend.fit >= FIT_MIN).then_some(trend.slope)
}

/// The number below which so much of them lies, 0.5 for the median. Zero of none.
pub(crate) fn quantile(numbers: &[f64], rank: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let index = (rank.clamp(0.0, 1.0) * last as f64).round() as usize;
    sorted.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: f64 = 65_536.0;

    fn numbers(memory: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..200).map(memory).collect()
    }

    #[test]
    fn what_grows_with_each_call_is_told_and_what_was_taken_once_is_not() {
        let leaks = numbers(|call| 17.0 * PAGE + call as f64 * PAGE);
        assert_eq!(growth(&leaks), Some(PAGE));
        // A page every fourth call is a line with steps.
        let slowly = numbers(|call| 17.0 * PAGE + (call / 4) as f64 * PAGE);
        assert!(growth(&slowly).is_some_and(|slope| (slope - PAGE / 4.0).abs() < PAGE / 40.0));
        let replaced = numbers(|call| 17.0 * PAGE + (call % 90) as f64 * 2.0 * PAGE);
        assert_eq!(growth(&replaced), Some(2.0 * PAGE));
        for (name, steady) in [
            ("steady", numbers(|_| 17.0 * PAGE)),
            ("filled at first", numbers(|call| PAGE * call.min(50) as f64)),
            ("a step in the second half", numbers(|call| if call < 160 { PAGE } else { 2.0 * PAGE })),
            ("up and down", numbers(|call| PAGE * (call % 3) as f64)),
        ] {
            assert_eq!(growth(&steady), None, "{name}");
        }
        assert_eq!(growth(&[]), None);
        assert_eq!(growth(&[1.0]), None);
    }

    #[test]
    fn quantiles_are_numbers_that_were_measured() {
        let numbers: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&numbers, 0.0), 1.0);
        assert_eq!(quantile(&numbers, 0.5), 51.0);
        assert_eq!(quantile(&numbers, 0.99), 99.0);
        assert_eq!(quantile(&numbers, 1.0), 100.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
