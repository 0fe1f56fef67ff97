//! What a probe type is.

use serde::de::DeserializeOwned;

use super::{Outcome, Target, backend};
use crate::Error;

/// A component that probes containers. Make it the component's export with [`export_probe!`](crate::export_probe).
///
/// It is made of what stands under `config:` in the plugin's entry. Without `config:` it is decoded from `null`, or else from `{}`.
/// Put `#[serde(deny_unknown_fields)]` on it, so that a misspelt key is refused when the plugin is loaded.
///
/// ```
/// use serde::Deserialize;
/// use serde_json::json;
/// use witlet_plugin_sdk_0_2::Error;
/// use witlet_plugin_sdk_0_2::facts::TargetFacts;
/// use witlet_plugin_sdk_0_2::probe::{Ended, Outcome, ProbeType, Target};
///
/// /// A command in the container says so; needs the grant `exec`.
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Checks {}
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Parameters {
///     command: Vec<String>,
/// }
///
/// impl ProbeType for Checks {
///     type Parameters = Parameters;
///
///     fn probe(&self, target: &Target<'_>, parameters: &Parameters) -> Result<Outcome, Error> {
///         // A command that can't be run at all is an error: nothing was found out.
///         let ended = target.exec(&parameters.command)?;
///         let text = String::from_utf8_lossy(&ended.output);
///         Ok(if ended.exit_code == 0 { Outcome::success(text) } else { Outcome::failure(text) })
///     }
/// }
///
/// let command = vec!["cat".to_owned(), "/tmp/healthy".to_owned()];
/// let ended = Ended { output: b"yes".to_vec(), ..Ended::default() };
/// let facts = TargetFacts::of(&json!({"metadata": {"name": "web"}})).running(&command, Ok(ended));
/// let outcome = Checks {}.probe(&facts.target(), &Parameters { command })?;
/// assert_eq!(outcome, Outcome::success("yes"));
/// # Ok::<(), Error>(())
/// ```
pub trait ProbeType: DeserializeOwned + 'static {
    /// What stands under `parameters:` of a probe; `()` for a type that takes none, which then refuses any. Variables
    /// are expanded, and names of ports are numbers already. Put `#[serde(deny_unknown_fields)]` on it.
    type Parameters: DeserializeOwned + 'static;

    /// Whether it can work with its configuration, which was decoded. It runs when the plugin is loaded; the default accepts.
    ///
    /// # Errors
    /// Refuses the plugin, in these words.
    fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
        let _ = setup;
        Ok(())
    }

    /// Whether a probe with these parameters makes sense. It runs before the first probe with them, after they were
    /// decoded; the default accepts.
    ///
    /// # Errors
    /// Fails each probe that has them, in these words.
    fn check_parameters(&self, parameters: &Self::Parameters, check: &Check<'_>) -> Result<(), Error> {
        let (_, _) = (parameters, check);
        Ok(())
    }

    /// Probes once, within [`Target::remaining`]. Whatever the probed process does wrong is a failure. Exactly one outcome: a
    /// probe type of this SDK can neither say nothing nor two things, which the host would take for a bad answer.
    ///
    /// # Errors
    /// When nothing was found out, for the probe itself went wrong. It is tried again up to two times, and then its result stays what
    /// it was.
    fn probe(&self, target: &Target<'_>, parameters: &Self::Parameters) -> Result<Outcome, Error>;
}

/// What a probe type says to the host when it is loaded.
#[derive(Debug)]
pub struct Setup<'a>(&'a backend::Setup);

impl<'a> Setup<'a> {
    pub(super) fn new(setup: &'a backend::Setup) -> Self {
        Self(setup)
    }

    /// A sentence for the operator, who finds it in the log and in an event. The plugin is loaded all the same.
    pub fn warn(&self, message: &str) {
        self.0.warn(message);
    }
}

/// What a probe type says to the host of parameters.
#[derive(Debug)]
pub struct Check<'a>(&'a backend::Check);

impl<'a> Check<'a> {
    pub(super) fn new(check: &'a backend::Check) -> Self {
        Self(check)
    }

    /// A sentence for the operator, who finds it in the log. The probe is carried out all the same.
    pub fn warn(&self, message: &str) {
        self.0.warn(message);
    }
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code.
    pub exit_code: i32,
    /// Its standard output, cut at 10 KiB.
    pub output: Vec<u8>,
    /// Its standard error, cut at 10 KiB.
    pub error_output: Vec<u8>,
}
