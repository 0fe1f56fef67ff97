//! Rules that were parsed, and what is wrong with those that can't be.

use witlet_cel::{Environment, Problem, Program, Type};
use witlet_plugin_sdk_0_2::Error;

use crate::config::Config;
use crate::environment;

/// How many expressions are reported at once.
const REPORTED_MAX: usize = 8;

/// How many names, values and signs all expressions may have together: what parsing them costs a fresh instance follows from it.
const TOKENS_MAX: usize = 32 << 10;

/// All expressions of a configuration.
pub(crate) struct Rules {
    /// Names and conditions.
    pub(crate) conditions: Vec<(String, Program)>,
    /// Names and values, in the order in which they may refer to each other.
    pub(crate) variables: Vec<(String, Program)>,
    pub(crate) validations: Vec<Rule>,
}

/// One of the rules; the rest of it stands in the configuration.
pub(crate) struct Rule {
    pub(crate) expression: Program,
    pub(crate) message: Option<Program>,
}

/// Where an expression stands, as messages name it.
pub(crate) fn place_of(list: &str, index: usize, name: &str) -> String {
    match list {
        "validations" => format!("validations[{index}].{name}"),
        _ => format!("{list}[{index}] ({name})"),
    }
}

/// Which results an expression may have.
#[derive(Clone, Copy)]
enum Expected {
    Bool,
    String,
    Any,
}

/// Problems as they are found, each with the place of its expression.
struct Findings {
    found: Vec<String>,
    count: usize,
    /// None, if there are too many.
    tokens_left: usize,
}

impl Findings {
    fn add(&mut self, place: String, problem: &Problem) {
        self.count += 1;
        if self.found.len() < REPORTED_MAX {
            self.found.push(format!("{place}, {problem}"));
        }
    }

    /// Keeps what was parsed and, if there is an environment, checked.
    fn take(
        &mut self,
        place: String,
        source: &str,
        checked: Option<(&Environment, Expected)>,
    ) -> Option<(Program, Type)> {
        if self.tokens_left == 0 {
            return None;
        }
        let parsed = Program::parse_one_of(source, &mut self.tokens_left).and_then(|program| {
            let Some((environment, expected)) = checked else { return Ok((program, Type::Dyn)) };
            let of = program.check(environment)?;
            fits(&of, expected)?;
            Ok((program, of))
        });
        parsed.map_err(|problem| self.add(place, &problem)).ok()
    }
}

fn fits(of: &Type, expected: Expected) -> Result<(), Problem> {
    let (name, is_fit) = match expected {
        Expected::Bool => ("bool", matches!(of, Type::Bool | Type::Dyn)),
        Expected::String => ("string", matches!(of, Type::String | Type::Dyn)),
        Expected::Any => ("", true),
    };
    if is_fit {
        return Ok(());
    }
    let help = match (of, expected) {
        (Type::Optional(_), _) => "say what counts where nothing is, as in .orValue(…)",
        (_, Expected::String) => "write string(…) around it",
        _ => "compare it with what it should be",
    };
    let message = format!("the result must be {name}, it is {of}");
    Err(Problem { line: 1, column: 1, message, help: Some(help.to_owned()) })
}

impl Rules {
    /// Parses all expressions of a configuration that was validated.
    pub(crate) fn parse(config: &Config) -> Result<Self, Error> {
        Self::read(config, None)
    }

    /// Parses all expressions, and checks them against what they may refer to.
    pub(crate) fn check(config: &Config) -> Result<Self, Error> {
        Self::read(config, Some(environment::of(config)))
    }

    fn read(config: &Config, mut environment: Option<Environment>) -> Result<Self, Error> {
        let mut findings = Findings { found: Vec::new(), count: 0, tokens_left: TOKENS_MAX + 1 };
        let mut variables = Vec::with_capacity(config.variables.len());
        for (index, named) in config.variables.iter().enumerate() {
            let place = place_of("variables", index, &named.name);
            let checked = environment.as_ref().map(|environment| (environment, Expected::Any));
            let taken = findings.take(place, &named.expression, checked);
            if let Some(environment) = &mut environment {
                // One that is wrong may still be referred to: what is wrong is said once.
                let of = taken.as_ref().map_or(Type::Dyn, |(_, of)| of.clone());
                environment::add_variable(environment, &named.name, of);
            }
            variables.extend(taken.map(|(program, _)| (named.name.clone(), program)));
        }
        let checked = |expected| environment.as_ref().map(|environment| (environment, expected));
        let mut conditions = Vec::with_capacity(config.match_conditions.len());
        for (index, named) in config.match_conditions.iter().enumerate() {
            let place = place_of("matchConditions", index, &named.name);
            let taken = findings.take(place, &named.expression, checked(Expected::Bool));
            conditions.extend(taken.map(|(program, _)| (named.name.clone(), program)));
        }
        let mut validations = Vec::with_capacity(config.validations.len());
        for (index, rule) in config.validations.iter().enumerate() {
            let place = place_of("validations", index, "expression");
            let expression = findings.take(place, &rule.expression, checked(Expected::Bool));
            let message = rule.message_expression.as_ref().and_then(|source| {
                let place = place_of("validations", index, "messageExpression");
                findings.take(place, source, checked(Expected::String))
            });
            let message = message.map(|(program, _)| program);
            validations.extend(expression.map(|(expression, _)| Rule { expression, message }));
        }
        if findings.tokens_left == 0 {
            let problem =
                format!("all expressions together have more than {TOKENS_MAX} names, values and signs");
            return Err(Error::invalid("validations", &problem));
        }
        if findings.count == 0 {
            return Ok(Self { conditions, variables, validations });
        }
        let mut words = findings.found.join("\n");
        if findings.count > REPORTED_MAX {
            words.push_str(&format!("\nand {} more expressions are wrong", findings.count - REPORTED_MAX));
        }
        Err(Error::new("InvalidConfiguration", words))
    }
}
