//! What a handler is.

use serde::de::DeserializeOwned;

use crate::{Error, Request, Verdict};

/// A component that decides on pods. Make it the component's export with [`export_admission!`](crate::export_admission).
///
/// ```
/// use serde::Deserialize;
/// use witlet_plugin_sdk::{AdmissionHandler, Error, Operation, Request, Verdict};
///
/// /// Pods of the namespaces that the configuration names wait for another day.
/// struct NotToday;
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Config {
///     namespaces: Vec<String>,
/// }
///
/// impl AdmissionHandler for NotToday {
///     type Config = Config;
///
///     fn validate(config: &Config) -> Result<(), Error> {
///         if config.namespaces.is_empty() {
///             return Err(Error::invalid("namespaces", "at least one must be named"));
///         }
///         Ok(())
///     }
///
///     fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
///         let is_new = request.operation() == Operation::Add;
///         if is_new && config.namespaces.contains(&request.pod().identity().namespace) {
///             let day = std::time::Duration::from_secs(24 * 3600);
///             return Ok(Verdict::defer("NotToday", "pods of this namespace wait for another day", day));
///         }
///         Ok(Verdict::Admit)
///     }
/// }
///
/// let error = NotToday::validate(&Config { namespaces: Vec::new() }).expect_err("there is none");
/// assert_eq!(error.to_string(), "namespaces: at least one must be named");
/// ```
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

    /// The verdict on a pod: a function of the request and the configuration, because the host may ask again, in this
    /// instance or in another, and must get the same answer.
    ///
    /// # Errors
    /// When there is no verdict. The plugin's `failurePolicy` decides what becomes of the pod.
    fn admit(request: &Request<'_>, config: &Self::Config) -> Result<Verdict, Error>;
}
