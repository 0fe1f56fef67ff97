//! What the host has, beyond what the contract's version says.

/// Whether the host has a feature, by the names of `requires` in a PluginConfiguration.
///
/// ```
/// use witlet_plugin_sdk_0_2::{facts, features};
///
/// facts::set_features(&["shadow"]);
/// assert!(features::has("shadow") && !features::has("teleport"));
/// ```
pub fn has(name: &str) -> bool {
    #[cfg(target_family = "wasm")]
    return crate::bindings::witlet::host::features::has(name);
    #[cfg(not(target_family = "wasm"))]
    crate::facts::has_feature(name)
}
