//! What a probe found.

use std::time::Duration;

/// What a probe found, and what is said in addition.
///
/// ```
/// # use std::time::Duration;
/// # use witlet_plugin_sdk_0_2::probe::Outcome;
/// let outcome = Outcome::success("PONG").latency(Duration::from_millis(3)).warn("version 5 is old");
/// assert_eq!(outcome.warnings(), ["version 5 is old"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    finding: Finding,
    warnings: Vec<String>,
    latency: Option<Duration>,
    annotations: Vec<(String, String)>,
}

/// What was found. Make it by the functions of [`Outcome`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// It passes.
    Success(String),
    /// It fails.
    Failure(String),
    /// Nothing was found out.
    Unknown(String),
}

impl Outcome {
    /// It passes; the message is what the probed thing said, and may be empty.
    pub fn success(message: impl Into<String>) -> Self {
        Self::of(Finding::Success(message.into()))
    }

    /// It fails, and why.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::of(Finding::Failure(message.into()))
    }

    /// Nothing was found out, and why. The probe is tried again up to two times, and then its result stays what it was.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::of(Finding::Unknown(message.into()))
    }

    /// A success, or a failure in these words.
    ///
    /// ```
    /// # use witlet_plugin_sdk_0_2::probe::Outcome;
    /// assert_eq!(Outcome::of_result(Ok::<_, &str>("PONG")), Outcome::success("PONG"));
    /// assert_eq!(Outcome::of_result(Err::<&str, _>("refused")), Outcome::failure("refused"));
    /// ```
    pub fn of_result(result: Result<impl Into<String>, impl ToString>) -> Self {
        match result {
            Ok(message) => Self::success(message),
            Err(error) => Self::failure(error.to_string()),
        }
    }

    /// A sentence for the pod's owner, in the event `ProbeWarning` of a success and behind the message of a failure. The host keeps
    /// 16.
    pub fn warn(mut self, message: impl Into<String>) -> Self {
        self.warnings.push(message.into());
        self
    }

    /// How long the probed thing took to answer.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = Some(latency);
        self
    }

    /// Something for those who check the call later: it stands in the call's log line. The host keeps 16 keys; the last value of
    /// a key counts.
    pub fn annotate(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }

    /// What was found.
    pub fn finding(&self) -> &Finding {
        &self.finding
    }

    /// The message of what was found.
    pub fn message(&self) -> &str {
        match &self.finding {
            Finding::Success(message) | Finding::Failure(message) | Finding::Unknown(message) => message,
        }
    }

    /// What the pod's owner reads in addition.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Keys and values for the log.
    pub fn annotations(&self) -> &[(String, String)] {
        &self.annotations
    }

    fn of(finding: Finding) -> Self {
        Self { finding, warnings: Vec::new(), latency: None, annotations: Vec::new() }
    }

    /// Says it to the host.
    #[cfg(target_family = "wasm")]
    pub(super) fn say(&self, answer: &super::bindings::witlet::probe::probe_types::Answer) {
        match &self.finding {
            Finding::Success(message) => answer.success(message),
            Finding::Failure(message) => answer.failure(message),
            Finding::Unknown(message) => answer.unknown(message),
        }
        self.warnings.iter().for_each(|message| answer.warn(message));
        if let Some(latency) = self.latency {
            answer.latency(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
        }
        self.annotations.iter().for_each(|(key, value)| answer.annotate(key, value));
    }
}
