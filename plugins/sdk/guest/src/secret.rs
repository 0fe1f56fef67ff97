//! Secrets: values that stand neither in the configuration nor in pods. A component that uses this module needs the
//! grant `secrets`.
//!
//! ```
//! use witlet_plugin_sdk::{facts, secret};
//!
//! facts::set_secret("redis-password", Ok(b"s3cret".to_vec()));
//! assert_eq!(secret::get("redis-password")?, b"s3cret");
//! # Ok::<(), secret::SecretError>(())
//! ```

pub use witlet_plugin_sdk_base::SecretError;

/// The newest value of the secret with this name. What the operator replaces is seen by the next call.
///
/// # Errors
/// When the grants don't name it, or the node doesn't have it.
pub fn get(name: &str) -> Result<Vec<u8>, SecretError> {
    #[cfg(target_family = "wasm")]
    {
        use crate::host::witlet::host::secret;
        secret::get(name).map_err(|error| match error {
            secret::SecretError::NotGranted => SecretError::NotGranted,
            secret::SecretError::NotFound => SecretError::NotFound,
        })
    }
    #[cfg(not(target_family = "wasm"))]
    witlet_plugin_sdk_base::facts::secret(name)
}
