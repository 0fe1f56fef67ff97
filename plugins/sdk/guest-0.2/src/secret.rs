//! Secrets: values that stand neither in the configuration nor in pods. A component that uses this module needs the grant
//! `secrets`.

use crate::Error;

/// The newest value of the secret with this name. What the operator replaces is seen by the next call.
///
/// ```
/// use witlet_plugin_sdk_0_2::{Error, facts, secret};
///
/// facts::set_secret("token", Ok(b"s3cret".to_vec()));
/// assert_eq!(secret::get("token")?, b"s3cret");
/// assert_eq!(secret::get("other").map_err(|error| error.code().to_owned()), Err("NotGranted".to_owned()));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// With the code `NotGranted` when the grants don't name it, `NotFound` when the node doesn't have it (now).
pub fn get(name: &str) -> Result<Vec<u8>, Error> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::witlet::host::secret::get(name).map_err(Error::from);
    #[cfg(not(target_family = "wasm"))]
    crate::facts::secret(name)
}
