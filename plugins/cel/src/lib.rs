//! Admission handler: rules in CEL, written as in a ValidatingAdmissionPolicy of Kubernetes.
//!
//! Shipped, but off. Its configuration:
//!
//! ```yaml
//! config:
//!   params: {registries: ["registry.example.com"]}            # what rules see as params
//!   matchConditions:                                          # rules are about pods for which all are true
//!     - {name: not-system, expression: "object.metadata.namespace != 'kube-system'"}
//!   variables:                                                # evaluated when they are needed
//!     - {name: images, expression: "object.spec.containers.map(c, c.image)"}
//!   validations:                                              # the first that isn't true decides
//!     - expression: "variables.images.all(i, params.registries.exists(r, i.startsWith(r + '/')))"
//!       messageExpression: "'images come from ' + params.registries.join(', ')"
//!       reason: ImageNotAllowed
//!     - {expression: "request.now.getHours() >= 6", message: nothing starts at night, action: Defer, retryAfter: 5m}
//!   operations: [add, image-resolved]                         # when pods are asked about
//! ```
//!
//! All expressions are checked when the plugin is loaded: their syntax, each variable, field and function, and their types. A rule
//! that can't be evaluated (a field that isn't there, a limit that is reached) is an error with the rule's place, which the plugin's
//! failure policy answers.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod activation;
mod config;
mod contract;
mod environment;
mod field;
mod old_object;
mod rules;

pub use witlet_cel::Limits;
use witlet_cel::{Budget, Failure, Program, Value};
use witlet_plugin_sdk_0_2::{
    AdmissionHandler, Error, Operation, Request, Setup, Verdict, export_admission, warn,
};

use activation::Activation;
pub use config::{Action, Config, NamedExpression, Validation};
use rules::{Rules, place_of};

/// Reason where a rule names none, as in Kubernetes.
pub const REASON: &str = "Invalid";

/// The longest message that an expression may make.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

impl AdmissionHandler for Config {
    fn subscribes(&self) -> Vec<Operation> {
        self.operations()
    }

    fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
        self.check()?;
        self.check_operations(setup)?;
        Rules::check(self).map(|_| ())
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        self.admit_within(request, Limits::DEFAULT)
    }
}

impl Config {
    /// Asks the rules about a pod within other limits than a node's.
    ///
    /// # Errors
    /// When a rule can't be evaluated.
    pub fn admit_within(&self, request: &Request<'_>, limits: Limits) -> Result<Verdict, Error> {
        let rules = match self.rules.get() {
            Some(rules) => rules,
            None => {
                let rules = Rules::parse(self)?;
                self.rules.get_or_init(|| rules)
            }
        };
        decide(request, self, rules, limits)
    }
}

fn decide(request: &Request<'_>, config: &Config, rules: &Rules, limits: Limits) -> Result<Verdict, Error> {
    let activation = Activation::new(request, config, rules);
    let budget = Budget::new(limits);
    if !matches(rules, &activation, &budget)? {
        return Ok(Verdict::admit());
    }
    for (index, (rule, parsed)) in config.validations.iter().zip(&rules.validations).enumerate() {
        let place = place_of("validations", index, "expression");
        if is_true(&parsed.expression, &activation, &budget).map_err(|failure| error(&place, &failure))? {
            continue;
        }
        let message = message(rule, parsed.message.as_ref(), index, &activation, &budget);
        let reason = rule.reason.as_deref().unwrap_or(REASON);
        return Ok(match rule.action {
            Action::Reject => Verdict::reject(reason, message),
            Action::Defer => {
                let after = rule.retry_after().map_err(|problem| Error::invalid(&place, &problem))?;
                Verdict::defer(reason, message, after)
            }
        });
    }
    Ok(Verdict::admit())
}

/// Whether the rules are about the pod: a condition that is false decides, whatever the others fail with.
fn matches(rules: &Rules, activation: &Activation<'_>, budget: &Budget) -> Result<bool, Error> {
    let mut failed = None;
    for (index, (name, condition)) in rules.conditions.iter().enumerate() {
        match is_true(condition, activation, budget) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(failure) => {
                failed = failed.or_else(|| Some(error(&place_of("matchConditions", index, name), &failure)));
            }
        }
    }
    failed.map_or(Ok(true), Err)
}

fn is_true(program: &Program, activation: &Activation<'_>, budget: &Budget) -> Result<bool, Failure> {
    match program.evaluate(activation, budget)? {
        Value::Bool(is_true) => Ok(is_true),
        other => Err(Failure::of_variable(format!("the result must be bool, it is {}", other.type_name()))),
    }
}

fn error(place: &str, failure: &Failure) -> Error {
    Error::new("RuleFailed", format!("{place}: {failure}"))
}

/// What is said of a rule that isn't kept: what its expression makes, or its message, or the rule itself.
fn message(
    rule: &Validation,
    expression: Option<&Program>,
    index: usize,
    activation: &Activation<'_>,
    budget: &Budget,
) -> String {
    if let Some(expression) = expression {
        let made = match expression.evaluate(activation, budget) {
            Ok(Value::String(text)) if text.contains('\n') => Err("it has several lines".to_owned()),
            Ok(Value::String(text)) if text.len() > MESSAGE_BYTES_MAX => Err("it is too long".to_owned()),
            Ok(Value::String(text)) if text.trim().is_empty() => Err("it is empty".to_owned()),
            Ok(Value::String(text)) => Ok(text.trim().to_owned()),
            Ok(other) => Err(format!("it is {}, not string", other.type_name())),
            Err(failure) => Err(failure.to_string()),
        };
        match made {
            Ok(text) => return text,
            // A refusal stays one though its words can't be made.
            Err(problem) => warn!("{}: {problem}", place_of("validations", index, "messageExpression")),
        }
    }
    match &rule.message {
        Some(message) => message.trim().to_owned(),
        None => format!("failed expression: {}", rule.expression.trim()),
    }
}

export_admission!(Config);

#[cfg(test)]
mod tests;
