//! Which set of plugins a node runs: what an annotation of its object chooses, whether the operator allows it, when it is taken, and
//! what is written back.
//!
//! A set is a plugin file with its components in a registry, named by digest. A user who may annotate the node chooses one; the agent's own
//! policy says from which repositories. A change is taken after a delay that is another on each node, and a set serves only once all of
//! it was loaded: until then the one before does, or the local plugin file.

use std::collections::VecDeque;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::image::reference::{ImageReference, ReferenceError};
use crate::text::shortened;

mod state;
#[cfg(test)]
mod tests;

pub use state::{RETRY, RETRY_LOAD, Refusal, SetState};

/// The annotation that chooses a set: `HOST[:PORT]/REPOSITORY[:TAG]@sha256:DIGEST`.
pub const CHOICE: &str = "witlet.dev/plugin-set";
/// The annotation that says which set runs.
pub const RUNNING: &str = "witlet.dev/plugin-set-running";
/// The annotation that says why it isn't the one that was chosen.
pub const MESSAGE: &str = "witlet.dev/plugin-set-message";
/// The longest delay before a change is taken, unless the policy says otherwise.
pub const JITTER_DEFAULT: Duration = Duration::from_secs(300);
/// The longest that a policy can make it.
pub const JITTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// What stands before references of components, and may stand before that of a set.
const SCHEME: &str = "oci://";
/// Longest annotation that is checked.
const CHOICE_BYTES_MAX: usize = 1024;
/// Longest message that is written back.
const MESSAGE_BYTES_MAX: usize = 1024;
/// How many sets that were tried in vain are remembered.
const WITHDRAWN_MAX: usize = 8;

/// What the node's object chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The object isn't known: what runs goes on.
    Unknown,
    /// No set: the local plugin file.
    Local,
    /// The set with this reference, as it was written.
    Set(String),
}

/// Returns what this object chooses; none is an object that isn't known.
pub fn choice(node: Option<&Node>) -> Choice {
    let Some(node) = node else { return Choice::Unknown };
    let chosen = node.metadata.annotations.as_ref().and_then(|all| all.get(CHOICE));
    match chosen.map(|text| text.trim()) {
        None | Some("") => Choice::Local,
        Some(text) => Choice::Set(text.to_owned()),
    }
}

/// Which sets may be chosen, and how long their change is spread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetPolicy {
    /// `HOST[:PORT]/PATH`: that repository, and with `/*` at the end all below it.
    pub repositories: Vec<String>,
    /// The longest delay before a change is taken.
    pub jitter: Duration,
}

/// Why a choice isn't taken. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// No reference is so long.
    #[error("the annotation {CHOICE} has more than {CHOICE_BYTES_MAX} bytes")]
    TooLong,
    #[error("the annotation {CHOICE} is {text:?}, expected HOST[:PORT]/REPOSITORY[:TAG]@sha256:DIGEST")]
    Reference {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        #[source]
        cause: ReferenceError,
    },
    /// A set is chosen by digest, or not at all.
    #[error("the annotation {CHOICE} is {text:?}, which has no digest: add @sha256:DIGEST")]
    NoDigest {
        /// As it was written.
        text: String,
    },
    /// A repository that the operator didn't allow.
    #[error("sets of {found} aren't allowed on this node: its policy (--plugin-sets) allows {}", allowed.join(", "))]
    Repository {
        found: String,
        /// Those of the policy.
        allowed: Vec<String>,
    },
}

/// A set that may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetReference {
    text: String,
    digest: String,
}

impl SetReference {
    /// Returns the reference, with the scheme `oci://` and a digest of SHA-256.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// The set that a text names, if the policy allows it.
///
/// # Errors
///
/// When it names none, or one of another repository.
pub fn allowed(text: &str, policy: &SetPolicy) -> Result<SetReference, ChoiceError> {
    if text.len() > CHOICE_BYTES_MAX {
        return Err(ChoiceError::TooLong);
    }
    let bare = text.strip_prefix(SCHEME).unwrap_or(text);
    let own = || text.to_owned();
    let parsed =
        ImageReference::parse(bare).map_err(|cause| ChoiceError::Reference { text: own(), cause })?;
    let found = format!("{}/{}", parsed.registry, parsed.path);
    // What names no registry gets the default one of images, and is then not what was written.
    if !bare.starts_with(&found) {
        return Err(ChoiceError::Reference { text: own(), cause: ReferenceError::Format });
    }
    let digest = parsed.digest.filter(|digest| digest.starts_with("sha256:"));
    let digest = digest.ok_or_else(|| ChoiceError::NoDigest { text: own() })?;
    let is_of = |pattern: &String| match pattern.strip_suffix("/*") {
        Some(folder) => found.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None => *pattern == found,
    };
    if !policy.repositories.iter().any(is_of) {
        return Err(ChoiceError::Repository { found, allowed: policy.repositories.clone() });
    }
    Ok(SetReference { text: format!("{SCHEME}{bare}"), digest })
}

/// How long this node waits before it takes the set with this digest: less than `jitter`, always the same, and another on each node, so
/// that a fleet doesn't change all at once.
pub fn delay(node_name: &str, digest: &str, jitter: Duration) -> Duration {
    let hash = Sha256::new().chain_update(node_name).chain_update([0_u8]).chain_update(digest).finalize();
    let head = hash.iter().take(8).fold(0_u64, |head, byte| (head << 8) | u64::from(*byte));
    let nanos = (jitter.min(JITTER_MAX).as_nanos() * u128::from(head)) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetStep {
    /// Nothing until the choice changes.
    Nothing,
    /// Nothing until then, or until the choice changes.
    Wait(Duration),
    /// This set is to be brought, verified and loaded.
    Take(SetReference),
    /// The local plugin file is to serve again.
    Leave,
}

/// What there is to say, as an event of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetNews {
    /// Whether something is wrong.
    pub is_warning: bool,
    pub reason: &'static str,
    pub message: String,
}

/// What is written back into the node's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetReport {
    /// For [`RUNNING`]: the set that runs.
    pub running: Option<String>,
    /// For [`MESSAGE`]: why it isn't the one that was chosen.
    pub message: Option<String>,
}

impl SetReport {
    /// Reads the report from the annotations of the agent's own node.
    pub fn of(node: &Node) -> Self {
        let value = |key: &str| node.metadata.annotations.as_ref()?.get(key).cloned();
        Self { running: value(RUNNING), message: value(MESSAGE) }
    }

    /// Makes a node's annotations say this, and nothing of it where there is nothing to say.
    pub fn write(&self, node: &mut Node) {
        for (key, value) in [(RUNNING, &self.running), (MESSAGE, &self.message)] {
            match (value, &mut node.metadata.annotations) {
                (Some(value), all) => {
                    all.get_or_insert_default().insert(key.to_owned(), value.clone());
                }
                (None, Some(all)) => {
                    all.remove(key);
                }
                (None, None) => {}
            }
        }
    }
}

/// Why a set is to serve no more.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LeaveReason {
    /// It isn't chosen any more.
    NotChosen,
    /// The policy has changed, and doesn't allow it.
    NotAllowed(String),
}

/// A set that is to serve no more, and still does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SetRemoval {
    reason: LeaveReason,
    due: Duration,
    refusals: u32,
    problem: Option<String>,
}

/// A set that isn't taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    reference: SetReference,
    due: Duration,
    /// What the last refusal was of, and how many of the same kind there were one after the other.
    refused: Option<(Refusal, u32)>,
    problem: Option<String>,
}

/// What a node knows of its sets. Times are durations since any one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSets {
    node_name: String,
    policy: SetPolicy,
    running: Option<SetReference>,
    candidate: Option<Candidate>,
    /// A choice that isn't allowed, and why.
    refused: Option<(String, String)>,
    departure: Option<SetRemoval>,
    /// The digest of a set that served before a restart and is damaged: it is brought again without delay.
    damaged: Option<String>,
    /// Digests of sets that were tried before the choice changed, and when that was: a choice that goes to and fro isn't followed at once
    /// each time.
    withdrawn: VecDeque<(String, Duration)>,
}

impl PluginSets {
    /// Creates the state of a node on which this set ran last: it runs on if the policy still allows it.
    pub fn new(node_name: &str, policy: SetPolicy, ran: Option<&str>) -> Self {
        let running = ran.and_then(|text| allowed(text, &policy).ok());
        let node_name = node_name.to_owned();
        let (candidate, refused, departure, damaged) = (None, None, None, None);
        Self {
            node_name,
            policy,
            running,
            candidate,
            refused,
            departure,
            damaged,
            withdrawn: VecDeque::new(),
        }
    }

    /// The set with this digest ran last, and its files are damaged: if it is still chosen it is taken without delay, because that is no
    /// change.
    #[must_use]
    pub fn with_damaged(self, digest: Option<&str>) -> Self {
        Self { damaged: digest.map(str::to_owned), ..self }
    }

    /// The operator's policy is this now. What ran by the one before, and isn't allowed any more, is left.
    pub fn use_policy(&mut self, policy: SetPolicy, now: Duration) {
        self.policy = policy;
        // It may be allowed again before it was left.
        if self.departure.as_ref().is_some_and(|departure| departure.reason != LeaveReason::NotChosen) {
            self.departure = None;
        }
        let running = self.running.as_ref().map(|running| allowed(&running.text, &self.policy));
        if let Some(Err(error)) = running {
            self.distrust(&crate::error::one_line(&error), now);
        }
    }

    /// The set that runs doesn't count any more, whatever is chosen: the local plugin file is to serve.
    pub fn distrust(&mut self, problem: &str, now: Duration) {
        if self.running.is_some() {
            self.departure = Some(SetRemoval::new(LeaveReason::NotAllowed(problem.to_owned()), now));
        }
    }

    /// The node's object chooses this now. What there is to say about that is said once.
    pub fn choose(&mut self, choice: &Choice, now: Duration) -> Option<SetNews> {
        let text = match choice {
            Choice::Unknown => return None,
            Choice::Local => {
                self.withdraw(now);
                self.refused = None;
                if self.running.is_some() && self.departure.is_none() {
                    self.departure = Some(SetRemoval::new(LeaveReason::NotChosen, now));
                }
                return None;
            }
            Choice::Set(text) => text,
        };
        if self.departure.as_ref().is_some_and(|departure| departure.reason == LeaveReason::NotChosen) {
            self.departure = None;
        }
        let reference = match allowed(text, &self.policy) {
            Ok(reference) => reference,
            Err(error) => {
                self.withdraw(now);
                let problem = crate::error::one_line(&error);
                let refused = Some((text.clone(), problem.clone()));
                let is_known = self.refused == refused;
                self.refused = refused;
                return (!is_known).then(|| refusal(&problem));
            }
        };
        self.refused = None;
        if self.running.as_ref().is_some_and(|runs| runs.digest == reference.digest) {
            self.withdraw(now);
        } else if self.candidate.as_ref().is_none_or(|candidate| candidate.reference != reference) {
            let is_damaged = self.damaged.as_ref() == Some(&reference.digest);
            let delay = delay(&self.node_name, &reference.digest, self.policy.jitter);
            self.withdraw(now);
            let before = self.withdrawn.iter().find(|(digest, _)| *digest == reference.digest);
            let earliest = before.map_or(Duration::ZERO, |(_, at)| *at + RETRY.initial);
            let due = (if is_damaged { now } else { now + delay }).max(earliest);
            self.candidate = Some(Candidate { reference, due, refused: None, problem: None });
        }
        None
    }

    /// The candidate isn't chosen any more.
    fn withdraw(&mut self, now: Duration) {
        let Some(Candidate { reference, due, refused, .. }) = self.candidate.take() else { return };
        if refused.is_some() || due <= now {
            self.withdrawn.retain(|(digest, _)| *digest != reference.digest);
            self.withdrawn.push_back((reference.digest, now));
            if self.withdrawn.len() > WITHDRAWN_MAX {
                self.withdrawn.pop_front();
            }
        }
    }

    /// Returns what is to be done at this time.
    pub fn next(&self, now: Duration) -> SetStep {
        // What must not serve is left first.
        if self.departure.as_ref().is_some_and(|departure| departure.due <= now) {
            return SetStep::Leave;
        }
        match &self.candidate {
            Some(candidate) if candidate.due <= now => SetStep::Take(candidate.reference.clone()),
            candidate => {
                let leaves = self.departure.as_ref().map(|departure| departure.due);
                let takes = candidate.as_ref().map(|candidate| candidate.due);
                leaves.into_iter().chain(takes).min().map_or(SetStep::Nothing, SetStep::Wait)
            }
        }
    }

    /// The set of the last step serves.
    pub fn taken(&mut self) -> Option<SetNews> {
        let Candidate { reference, .. } = self.candidate.take()?;
        (self.departure, self.damaged) = (None, None);
        let message = match self.running.replace(reference.clone()) {
            Some(before) => format!("runs {} in place of {}", reference.text, before.text),
            None => format!("runs {} in place of the local plugin file", reference.text),
        };
        Some(SetNews { is_warning: false, reason: "PluginSetTaken", message })
    }

    /// The set of the last step doesn't serve. It is tried again; what is said is said once for each reason.
    pub fn refused(&mut self, refusal_of: Refusal, problem: &str, now: Duration) -> Option<SetNews> {
        let candidate = self.candidate.as_mut()?;
        // Tries over a network that fails don't make those of loading rarer.
        let before = candidate.refused.filter(|(kind, _)| kind.policy() == refusal_of.policy());
        let count = before.map_or(1, |(_, count)| count.saturating_add(1));
        candidate.refused = Some((refusal_of, count));
        candidate.due = now + refusal_of.policy().after(count);
        let problem = format!("{}: {problem}", candidate.reference.text);
        let is_known = candidate.problem.as_ref() == Some(&problem);
        candidate.problem = Some(problem.clone());
        (!is_known).then(|| refusal(&problem))
    }

    /// The local plugin file serves again.
    pub fn left(&mut self) -> Option<SetNews> {
        let departure = self.departure.take();
        let before = self.running.take()?;
        let message = format!("runs the local plugin file in place of {}", before.text);
        let (is_warning, message) = match departure.map(|departure| departure.reason) {
            Some(LeaveReason::NotAllowed(why)) => (true, format!("{message}: {why}")),
            Some(LeaveReason::NotChosen) | None => (false, message),
        };
        let message = shortened(message, MESSAGE_BYTES_MAX);
        Some(SetNews { is_warning, reason: "PluginSetLeft", message })
    }

    /// The local plugin file can't be taken, so that the set goes on. It is tried again; what is said is said once for each reason.
    pub fn not_left(&mut self, problem: &str, now: Duration) -> Option<SetNews> {
        let (running, departure) = (self.running.as_ref()?, self.departure.as_mut()?);
        departure.refusals = departure.refusals.saturating_add(1);
        departure.due = now + RETRY.after(departure.refusals);
        let why = match &departure.reason {
            LeaveReason::NotChosen => String::new(),
            LeaveReason::NotAllowed(why) => format!(" ({why})"),
        };
        let problem = format!("{} runs on{why}: {problem}", running.text);
        let is_known = departure.problem.as_ref() == Some(&problem);
        departure.problem = Some(problem.clone());
        let message = shortened(problem, MESSAGE_BYTES_MAX);
        (!is_known).then_some(SetNews { is_warning: true, reason: "PluginSetNotLeft", message })
    }

    /// The set that runs.
    pub fn running(&self) -> Option<&SetReference> {
        self.running.as_ref()
    }

    /// How the node stands to what was chosen.
    pub fn state(&self) -> SetState {
        match (&self.departure, &self.candidate, &self.refused, &self.running) {
            (Some(SetRemoval { problem: Some(_), .. }), ..) => SetState::NotLeft,
            (_, Some(candidate), ..) => match candidate.refused {
                None => SetState::Waiting,
                Some((refusal, _)) => refusal.into(),
            },
            (_, None, Some(_), _) => SetState::NotAllowed,
            (_, None, None, Some(_)) => SetState::Running,
            (_, None, None, None) => SetState::Local,
        }
    }

    /// Returns what is written back.
    pub fn report(&self) -> SetReport {
        let waits = |candidate: &Candidate| {
            let jitter = self.policy.jitter.as_secs();
            format!("{} is taken at most {jitter}s after it was chosen", candidate.reference.text)
        };
        let stays = self.departure.as_ref().and_then(|departure| departure.problem.clone());
        let candidate = self.candidate.as_ref();
        let candidate =
            candidate.map(|candidate| candidate.problem.clone().unwrap_or_else(|| waits(candidate)));
        let refused = || self.refused.as_ref().map(|(_, problem)| problem.clone());
        let message = stays.or(candidate).or_else(refused);
        SetReport {
            running: self.running.as_ref().map(|reference| reference.text.clone()),
            message: message.map(|message| shortened(message, MESSAGE_BYTES_MAX)),
        }
    }
}

impl SetRemoval {
    fn new(reason: LeaveReason, now: Duration) -> Self {
        Self { reason, due: now, refusals: 0, problem: None }
    }
}

fn refusal(problem: &str) -> SetNews {
    let message = shortened(problem.to_owned(), MESSAGE_BYTES_MAX);
    SetNews { is_warning: true, reason: "PluginSetRefused", message }
}
