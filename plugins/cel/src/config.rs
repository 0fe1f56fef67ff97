//! What stands under `config:`, as in a ValidatingAdmissionPolicy of Kubernetes.

use std::cell::OnceCell;
use std::time::Duration;

use serde::Deserialize;
use witlet_cel::Value;
use witlet_plugin_sdk_0_2::{Error, Operation, Setup};

use crate::rules::Rules;

/// How many entries each list may have.
const ENTRIES_MAX: usize = 100;

/// How many bytes all expressions may have together.
const SOURCES_BYTES_MAX: usize = 128 << 10;

/// The longest name, message or reason.
const NAME_CHARS_MAX: usize = 63;
const MESSAGE_BYTES_MAX: usize = 4 << 10;
const REASON_BYTES_MAX: usize = 128;

/// When a deferred pod is asked about again, if nothing else is said.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// What the host takes as such a time.
const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// Rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    /// What expressions see as `params`.
    pub params: Option<Value>,
    /// Which pods the rules are about: those for which all of these are true.
    #[serde(default)]
    pub match_conditions: Vec<NamedExpression>,
    /// What expressions see as `variables.NAME`, each evaluated when it is needed.
    #[serde(default)]
    pub variables: Vec<NamedExpression>,
    /// What must be true; the first that isn't decides.
    pub validations: Vec<Validation>,
    /// When pods are asked about, by the contract's words. Default: whenever containers, images or resources come to a pod.
    pub operations: Option<Vec<String>>,
    /// The same, parsed once for an instance.
    #[serde(skip)]
    pub(crate) rules: OnceCell<Rules>,
}

/// An expression with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedExpression {
    /// Its name, once in its list.
    pub name: String,
    /// The expression.
    pub expression: String,
}

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Validation {
    /// What must be true.
    pub expression: String,
    /// What is said if it isn't.
    pub message: Option<String>,
    /// The same as an expression; it comes before `message`.
    pub message_expression: Option<String>,
    /// The reason of the verdict, a CamelCase word. Default: `Invalid`, as in Kubernetes.
    pub reason: Option<String>,
    /// What becomes of the pod.
    #[serde(default)]
    pub action: Action,
    /// With `action: Defer`: when the pod is asked about again, such as `30s`.
    pub retry_after: Option<String>,
}

/// What becomes of a pod that breaks a rule.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub enum Action {
    /// It fails, for ever.
    #[default]
    Reject,
    /// It waits.
    Defer,
}

impl Validation {
    /// When a deferred pod is asked about again.
    pub(crate) fn retry_after(&self) -> Result<Duration, String> {
        let Some(text) = &self.retry_after else { return Ok(RETRY_AFTER) };
        if self.action != Action::Defer {
            return Err("only allowed with action: Defer".to_owned());
        }
        let nanos = witlet_cel::parse_duration(text).and_then(|nanos| u64::try_from(nanos).ok());
        let time = nanos.map(Duration::from_nanos);
        time.filter(|time| (RETRY_AFTER_MIN..=RETRY_AFTER_MAX).contains(time))
            .ok_or_else(|| format!("must be a duration from 1s to 1h such as 30s, found {text:?}"))
    }
}

impl Config {
    /// When pods are asked about.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        match &self.operations {
            Some(operations) => operations.iter().cloned().map(Operation::from).collect(),
            None => vec![Operation::Add, Operation::Resize, Operation::Update, Operation::Ephemeral],
        }
    }

    /// Whether the host asks about all of these operations.
    pub(crate) fn check_operations(&self, setup: &Setup<'_>) -> Result<(), Error> {
        let operations = self.operations();
        let Some(index) = operations.iter().position(|operation| !setup.knows(operation)) else {
            return Ok(());
        };
        let mut known = Operation::known();
        known.retain(|operation| setup.knows(operation));
        let known: Vec<_> = known.iter().map(Operation::as_str).collect();
        let problem = format!("must be one of {}, found {}", known.join(", "), operations[index]);
        Err(Error::invalid(&format!("operations[{index}]"), &problem))
    }

    /// All but the expressions themselves.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let lists = [
            ("matchConditions", self.match_conditions.len()),
            ("variables", self.variables.len()),
            ("validations", self.validations.len()),
        ];
        for (key, length) in lists {
            if length > ENTRIES_MAX {
                return Err(Error::invalid(key, &format!("{length} entries are more than {ENTRIES_MAX}")));
            }
        }
        if self.validations.is_empty() {
            return Err(Error::invalid("validations", "must have at least one rule"));
        }
        if self.operations.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::invalid(
                "operations",
                "must not be empty: remove it, or name an operation such as add",
            ));
        }
        let named = self.match_conditions.iter().chain(&self.variables).map(|named| named.expression.len());
        let rules = self
            .validations
            .iter()
            .map(|rule| rule.expression.len() + rule.message_expression.as_ref().map_or(0, String::len));
        let bytes: usize = named.chain(rules).sum();
        if bytes > SOURCES_BYTES_MAX {
            let problem =
                format!("all expressions together have {bytes} bytes, more than {SOURCES_BYTES_MAX}");
            return Err(Error::invalid("validations", &problem));
        }
        check_names("matchConditions", &self.match_conditions, |_| true)?;
        check_names("variables", &self.variables, is_identifier)?;
        self.validations.iter().enumerate().try_for_each(|(index, rule)| rule.check(index))
    }
}

impl Validation {
    fn check(&self, index: usize) -> Result<(), Error> {
        let invalid =
            |key: &str, problem: &str| Err(Error::invalid(&format!("validations[{index}].{key}"), problem));
        if let Some(message) = &self.message {
            if message.trim().is_empty() {
                return invalid("message", "is empty");
            }
            if message.contains('\n') || message.len() > MESSAGE_BYTES_MAX {
                return invalid("message", "must be one line of at most 4096 bytes");
            }
        }
        if let Some(reason) = &self.reason {
            let is_word = reason.starts_with(|first: char| first.is_ascii_alphabetic())
                && reason.bytes().all(|letter| letter.is_ascii_alphanumeric());
            if !is_word || reason.len() > REASON_BYTES_MAX {
                return invalid("reason", "must be a CamelCase word, such as ImageNotAllowed");
            }
        }
        self.retry_after().map(|_| ()).or_else(|problem| invalid("retryAfter", &problem))
    }
}

fn check_names(key: &str, list: &[NamedExpression], is_name: fn(&str) -> bool) -> Result<(), Error> {
    for (index, named) in list.iter().enumerate() {
        let invalid = |problem: String| Err(Error::invalid(&format!("{key}[{index}].name"), &problem));
        if named.name.is_empty() || named.name.chars().count() > NAME_CHARS_MAX || !is_name(&named.name) {
            return invalid(format!(
                "{:?} is no name: letters, digits and underscores, a letter first",
                named.name
            ));
        }
        if list[..index].iter().any(|other| other.name == named.name) {
            return invalid(format!("Duplicate value: {:?}", named.name));
        }
    }
    Ok(())
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}
