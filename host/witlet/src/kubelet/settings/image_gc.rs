//! When images that nothing uses are removed: four fields (upstream: `apis/config/validation/validation.go`).

use jiff::SignedDuration;
use witlet_core::go;
use witlet_core::image::gc::ImageGcPolicy;

use super::SettingsError;
use crate::kubelet::effective_config::EffectiveConfig;

/// Upstream's defaults.
const HIGH: i64 = 85;
const LOW: i64 = 80;
const MINIMUM_AGE: SignedDuration = SignedDuration::from_mins(2);

/// Returns what the configuration comes to. Ages of zero count as not set.
pub(super) fn policy(effective: &EffectiveConfig) -> Result<ImageGcPolicy, SettingsError> {
    let high = effective.image_gc_high_threshold_percent.unwrap_or(HIGH);
    let low = effective.image_gc_low_threshold_percent.unwrap_or(LOW);
    let (high_name, low_name) = (
        "imageGCHighThresholdPercent (--image-gc-high-threshold)",
        "imageGCLowThresholdPercent (--image-gc-low-threshold)",
    );
    let invalid = |message: String| Err(SettingsError::Invalid { problems: vec![message] });
    for (name, percent) in [(high_name, high), (low_name, low)] {
        if !(0..=100).contains(&percent) {
            return invalid(format!("{name} {percent} must be between 0 and 100, inclusive"));
        }
    }
    if low >= high {
        return invalid(format!("{low_name} {low} must be less than {high_name} {high}"));
    }
    let age = |nanoseconds: Option<i64>| nanoseconds.map(SignedDuration::from_nanos);
    let minimum = age(effective.image_minimum_gc_age).unwrap_or(MINIMUM_AGE);
    let maximum = age(effective.image_maximum_gc_age).unwrap_or(SignedDuration::ZERO);
    for (name, age) in [("imageMinimumGCAge", minimum), ("imageMaximumGCAge", maximum)] {
        if age.is_negative() {
            return invalid(format!("{name} {} must not be negative", shown(age)));
        }
    }
    if maximum.is_positive() && maximum <= minimum {
        let (maximum, minimum) = (shown(maximum), shown(minimum));
        return invalid(format!(
            "imageMaximumGCAge {maximum} must be greater than imageMinimumGCAge {minimum}"
        ));
    }
    let percent = |percent: i64| i32::try_from(percent).unwrap_or(i32::MAX);
    ImageGcPolicy::new(percent(high), percent(low), minimum, maximum)
        .map_err(|error| SettingsError::Invalid { problems: vec![error.to_string()] })
}

/// Returns the text as Go prints it. All ages here come from 64 bits of nanoseconds.
fn shown(age: SignedDuration) -> String {
    go::duration(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX))
}
