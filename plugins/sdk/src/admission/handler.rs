//! What a handler is.

use serde::de::DeserializeOwned;

use crate::{Error, Request, Verdict};

/// A component that decides on pods. Make it the component's export with [`export_admission!`](crate::export_admission).
pub trait AdmissionHandler {
    /// What stands under `config:` in the plugin's entry; `()` for a handler that takes none, which then refuses any.
    /// Without `config:` the type is decoded from `null`, or else from `{}`. Put `#[serde(deny_unknown_fields)]` on
    /// it, so that a misspelt key is refused when the plugin is loaded.
    type Config: DeserializeOwned + 'static;

    /// Whether the handler can work with this configuration. It runs when the plugin is loaded, after the
    /// configuration was decoded; the default accepts.
    ///
    /// # Errors
    /// Refuses the plugin, in these words.
    fn validate(config: &Self::Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// The verdict on a pod: a function of the request and the configuration, for the host may ask again, in this
    /// instance or in another, and must hear the same.
    ///
    /// # Errors
    /// When there is no verdict. The plugin's `failurePolicy` decides what becomes of the pod.
    fn admit(request: &Request<'_>, config: &Self::Config) -> Result<Verdict, Error>;
}
