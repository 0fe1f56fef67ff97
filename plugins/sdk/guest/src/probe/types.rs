//! What a probe type is.

use serde::de::DeserializeOwned;

use super::{Outcome, Target};
use crate::Error;

/// A component that probes containers. Make it the component's export with [`export_probe!`](crate::export_probe).
///
/// ```
/// use serde::Deserialize;
/// use witlet_plugin_sdk::Error;
/// use witlet_plugin_sdk::facts::TargetFacts;
/// use witlet_plugin_sdk::probe::{Outcome, Output, ProbeType, Target};
///
/// /// A command in the container says so; needs the grant `exec`.
/// struct Checks;
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Parameters {
///     command: Vec<String>,
/// }
///
/// impl ProbeType for Checks {
///     type Config = ();
///     type Parameters = Parameters;
///
///     fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
///         if parameters.command.is_empty() {
///             return Err(Error::invalid("command", "may not be empty"));
///         }
///         Ok(())
///     }
///
///     fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
///         // A command that can't be run at all is an error: nothing was found out.
///         let ended = target.exec(&parameters.command)?;
///         let text = String::from_utf8_lossy(&ended.output).into_owned();
///         Ok(if ended.exit_code == 0 { Outcome::Success(text) } else { Outcome::Failure(text) })
///     }
/// }
///
/// let command = vec!["cat".to_owned(), "/tmp/healthy".to_owned()];
/// let ended = Ok(Output { exit_code: 0, output: b"yes".to_vec() });
/// let facts = TargetFacts { commands: vec![(command.clone(), ended)], ..TargetFacts::default() };
/// let outcome = Checks::probe(&facts.target(), &Parameters { command }, &())?;
/// assert_eq!(outcome, Outcome::Success("yes".to_owned()));
/// # Ok::<(), Error>(())
/// ```
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
