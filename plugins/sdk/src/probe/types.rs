//! What a probe type is.

use serde::de::DeserializeOwned;

use super::{Outcome, Target};
use crate::Error;

/// A component that probes containers. Make it the component's export with [`export_probe!`](crate::export_probe).
pub trait ProbeType {
    /// What stands under `config:` in the plugin's entry; `()` for a type that takes none, which then refuses any.
    /// Without `config:` it is decoded from `null`, or else from `{}`. Put `#[serde(deny_unknown_fields)]` on it, so
    /// that a misspelt key is refused when the plugin is loaded.
    type Config: DeserializeOwned + 'static;

    /// What stands under `parameters:` of a probe; `()` for a type that takes none, which then refuses any. Variables
    /// are expanded, and names of ports are numbers already. Put `#[serde(deny_unknown_fields)]` on it.
    type Parameters: DeserializeOwned + 'static;

    /// Whether the type can work with this configuration. It runs when the plugin is loaded, after the configuration
    /// was decoded; the default accepts.
    ///
    /// # Errors
    /// Refuses the plugin, in these words.
    fn validate(config: &Self::Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// Whether a probe with these parameters makes sense. It runs before the first probe with them, after they were
    /// decoded; the default accepts.
    ///
    /// # Errors
    /// Fails each probe that has them, in these words.
    fn check_parameters(parameters: &Self::Parameters, config: &Self::Config) -> Result<(), Error> {
        let (_, _) = (parameters, config);
        Ok(())
    }

    /// Probes once, within [`Target::remaining`]. Whatever the probed process does wrong is an [`Outcome::Failure`].
    ///
    /// # Errors
    /// When nothing was found out. The probe is tried again up to two times, and then its result stays what it was.
    fn probe(
        target: &Target<'_>,
        parameters: &Self::Parameters,
        config: &Self::Config,
    ) -> Result<Outcome, Error>;
}
