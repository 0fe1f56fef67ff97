//! Why a secret has no value.

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The plugin's grants don't name it.
    #[error("not granted to the plugin")]
    NotGranted,
    /// The grants name it, and the node doesn't have it (now).
    #[error("not found on the node")]
    NotFound,
}
