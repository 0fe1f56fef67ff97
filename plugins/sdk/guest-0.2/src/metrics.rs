//! Numbers of the plugin's own among the agent's metrics, where each has the label `plugin`. What exceeds a bound of the contract (names, at
//! most 4 labels, at most 64 series) is left out and counted by the host, never an error, so that no answer depends on it.
//!
//! ```
//! use witlet_plugin_sdk_0_2::facts::{Metric, take_metrics};
//! use witlet_plugin_sdk_0_2::metrics;
//!
//! metrics::add("images", &[("registry", "docker.io")], 2);
//! metrics::observe("table_rows", &[], 7.0);
//! let seen = take_metrics();
//! assert_eq!(seen[0], Metric::added("images", &[("registry", "docker.io")], 2));
//! assert_eq!(seen[1], Metric::observed("table_rows", &[], 7.0));
//! ```

/// Adds to the counter `witlet_plugin_custom_<name>_total`.
pub fn add(name: &str, labels: &[(&str, &str)], amount: u64) {
    #[cfg(target_family = "wasm")]
    crate::bindings::witlet::host::metrics::add(name, &owned(labels), amount);
    #[cfg(not(target_family = "wasm"))]
    crate::facts::metrics::record(crate::facts::Metric::added(name, labels, amount));
}

/// Adds one observation to the histogram `witlet_plugin_custom_<name>`, whose buckets end at 1, 2.5 and 5 times each power of ten from
/// 0.001 to 1000. Negative values, and those that aren't finite, are left out.
pub fn observe(name: &str, labels: &[(&str, &str)], value: f64) {
    #[cfg(target_family = "wasm")]
    crate::bindings::witlet::host::metrics::observe(name, &owned(labels), value);
    #[cfg(not(target_family = "wasm"))]
    crate::facts::metrics::record(crate::facts::Metric::observed(name, labels, value));
}

#[cfg(target_family = "wasm")]
fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests;
