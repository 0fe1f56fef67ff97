//! Verdicts.

use std::time::Duration;

/// What becomes of a pod, and what is said in addition.
///
/// ```
/// # use witlet_plugin_sdk_0_2::Verdict;
/// let verdict = Verdict::admit().warn("the tag will go away").annotate("registry", "docker.io");
/// assert_eq!(verdict.warnings(), ["the tag will go away"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    decision: Decision,
    warnings: Vec<String>,
    annotations: Vec<(String, String)>,
}

/// What becomes of a pod. Make it by the functions of [`Verdict`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Nothing against it.
    Admit,
    /// Never.
    Reject {
        /// A CamelCase word.
        reason: String,
        /// One sentence.
        message: String,
    },
    /// Not now.
    Defer {
        /// A CamelCase word.
        reason: String,
        /// One sentence.
        message: String,
        /// When to ask again.
        retry_after: Duration,
    },
    /// The node lacks these resources.
    Shortages(Vec<Shortage>),
}

/// A resource that the node lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Its name.
    pub resource: String,
    /// What the pod asks for.
    pub requested: i64,
    /// What the others have.
    pub used: i64,
    /// What the node has.
    pub capacity: i64,
}

impl Verdict {
    /// Nothing against the pod.
    pub fn admit() -> Self {
        Self::of(Decision::Admit)
    }

    /// The pod may never run here: a new one's phase becomes Failed with this CamelCase reason and this sentence.
    pub fn reject(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(Decision::Reject { reason: reason.into(), message: message.into() })
    }

    /// Rejects with the first of these objections; admits where there is none.
    ///
    /// ```
    /// # use witlet_plugin_sdk_0_2::Verdict;
    /// let names = ["web", "test-1", "test-2"];
    /// let tests = names.into_iter().filter(|name| name.starts_with("test-"));
    /// let verdict = Verdict::reject_first("NoTests", tests.map(|name| format!("{name} is a test")));
    /// assert_eq!(verdict, Verdict::reject("NoTests", "test-1 is a test"));
    /// assert_eq!(Verdict::reject_first("NoTests", None::<String>), Verdict::admit());
    /// ```
    pub fn reject_first<M: Into<String>>(
        reason: impl Into<String>,
        objections: impl IntoIterator<Item = M>,
    ) -> Self {
        objections.into_iter().next().map_or_else(Self::admit, |message| Self::reject(reason, message))
    }

    /// Not now: the pod waits as `Blocked` with this CamelCase reason and this sentence, and is asked about again after that time
    /// (within a second and an hour) or when the node or its pods change.
    pub fn defer(reason: impl Into<String>, message: impl Into<String>, retry_after: Duration) -> Self {
        Self::of(Decision::Defer { reason: reason.into(), message: message.into(), retry_after })
    }

    /// The node lacks these resources; without any, the pod is admitted. The host preempts others for a critical pod where nothing else
    /// is against it.
    ///
    /// ```
    /// # use witlet_plugin_sdk_0_2::Verdict;
    /// assert_eq!(Verdict::shortages(None), Verdict::admit());
    /// ```
    pub fn shortages(shortages: impl IntoIterator<Item = Shortage>) -> Self {
        let shortages = Vec::from_iter(shortages);
        Self::of(if shortages.is_empty() { Decision::Admit } else { Decision::Shortages(shortages) })
    }

    /// A sentence for the pod's owner, who finds it in an event of the pod. The host keeps 16.
    pub fn warn(mut self, message: impl Into<String>) -> Self {
        self.warnings.push(message.into());
        self
    }

    /// Something for those who check the decision later: it stands in the decision log under `<plugin>/<key>`. The host keeps 16
    /// keys; the last value of a key counts.
    pub fn annotate(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }

    /// What becomes of the pod.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The reason of a refusal; none of an admission, and of a shortage, whose reason is the host's.
    pub fn reason(&self) -> Option<&str> {
        match &self.decision {
            Decision::Reject { reason, .. } | Decision::Defer { reason, .. } => Some(reason),
            Decision::Admit | Decision::Shortages(_) => None,
        }
    }

    /// The sentence of a refusal, as [`reason`](Self::reason).
    pub fn message(&self) -> Option<&str> {
        match &self.decision {
            Decision::Reject { message, .. } | Decision::Defer { message, .. } => Some(message),
            Decision::Admit | Decision::Shortages(_) => None,
        }
    }

    /// What the pod's owner reads.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Keys and values for the decision log.
    pub fn annotations(&self) -> &[(String, String)] {
        &self.annotations
    }

    fn of(decision: Decision) -> Self {
        Self { decision, warnings: Vec::new(), annotations: Vec::new() }
    }

    /// Says it to the host.
    #[cfg(target_family = "wasm")]
    pub(crate) fn say(&self, answer: &crate::bindings::witlet::admission::admission_types::Answer) {
        match &self.decision {
            Decision::Admit => answer.admit(),
            Decision::Reject { reason, message } => answer.reject(reason, message),
            Decision::Defer { reason, message, retry_after } => {
                let milliseconds = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
                answer.defer(reason, message, milliseconds);
            }
            Decision::Shortages(shortages) => shortages.iter().for_each(|shortage| {
                let Shortage { resource, requested, used, capacity } = shortage;
                answer.shortage(resource, *requested, *used, *capacity);
            }),
        }
        self.warnings.iter().for_each(|message| answer.warn(message));
        self.annotations.iter().for_each(|(key, value)| answer.annotate(key, value));
    }
}
