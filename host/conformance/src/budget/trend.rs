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

/// Fits a line by least squares; `None` for fewer than two numbers.
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
/// grown too large: the longest stretch without a fall is checked, and of that the second half, for the first calls of an
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
mod tests;
