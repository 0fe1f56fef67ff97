//! What an answer should be, as an expression in CEL over `status`, `headers`, `body` and `latency`.

use std::cell::OnceCell;
use std::time::Duration;

use witlet_cel::{Budget, Environment, Failure, Key, Limits, Program, Type, Value, Variables};
use witlet_plugin_sdk::Error;

use crate::Parameters;

/// An answer as an expression sees it.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    /// Names and values as they came.
    pub(crate) headers: Vec<(String, String)>,
    /// JSON text; none if the expression doesn't ask for it.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) latency: Duration,
    /// The body's value, read once.
    pub(crate) parsed: OnceCell<Result<Value, String>>,
    /// The headers' value, made once.
    pub(crate) joined: OnceCell<Value>,
}

/// The rule of a probe, if it has one.
pub(crate) fn of(parameters: &Parameters) -> Result<Option<Program>, Error> {
    let Some(expression) = &parameters.expression else { return Ok(None) };
    let invalid = |problem: String| Error::invalid("expression", problem);
    let Parameters { pointer, equals, one_of, min, max, .. } = parameters;
    if pointer.is_some() || equals.is_some() || one_of.is_some() || min.is_some() || max.is_some() {
        return Err(invalid("takes the place of pointer, equals, oneOf, min and max".to_owned()));
    }
    Program::parse(expression).map(Some).map_err(|problem| invalid(problem.to_string()))
}

/// Checks the rule against what it may refer to.
pub(crate) fn check(program: &Program) -> Result<(), Error> {
    let variables = [
        ("status", Type::Int),
        ("headers", Type::map(Type::String)),
        ("body", Type::Dyn),
        ("latency", Type::Duration),
    ];
    let variables = variables.map(|(name, of)| (name.to_owned(), of)).into();
    let environment = Environment { variables, ..Environment::default() };
    let of =
        program.check(&environment).map_err(|problem| Error::invalid("expression", problem.to_string()))?;
    match of {
        Type::Bool | Type::Dyn => Ok(()),
        other => Err(Error::invalid("expression", format!("the result must be bool, it is {other}"))),
    }
}

/// Whether the answer is as the rule wants it; an error is why it isn't.
pub(crate) fn judge(program: &Program, answer: &HttpResponse) -> Result<String, String> {
    let source = program.source().trim();
    match program.evaluate(answer, &Budget::new(Limits::DEFAULT)) {
        Ok(Value::Bool(true)) => Ok(format!("{source} is true")),
        Ok(Value::Bool(false)) => Err(format!("{source} is false")),
        Ok(other) => Err(format!("the result of {source} must be bool, it is {}", other.type_name())),
        Err(failure) => Err(format!("expression: {failure}")),
    }
}

impl Variables for HttpResponse {
    fn get(&self, name: &str, budget: &Budget) -> Option<Result<Value, Failure>> {
        Some(match name {
            "status" => Ok(Value::Int(i64::from(self.status))),
            "latency" => Ok(Value::Duration(i64::try_from(self.latency.as_nanos()).unwrap_or(i64::MAX))),
            "headers" => Ok(self.joined.get_or_init(|| headers(&self.headers)).clone()),
            "body" => self.json(budget),
            _ => return None,
        })
    }
}

impl HttpResponse {
    fn json(&self, budget: &Budget) -> Result<Value, Failure> {
        let parsed = match self.parsed.get() {
            Some(parsed) => parsed,
            None => {
                let text = self.body.as_deref().unwrap_or_default();
                budget.count((text.len() / 16) as u64)?;
                self.parsed.get_or_init(|| {
                    serde_json::from_slice(text).map_err(|error| format!("the answer is no JSON: {error}"))
                })
            }
        };
        parsed.clone().map_err(Failure::of_variable)
    }
}

/// Names in small letters; the values of the same name with commas between them.
fn headers(headers: &[(String, String)]) -> Value {
    let mut entries: Vec<(String, String)> = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        match entries.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push_str(&format!(", {value}")),
            None => entries.push((name, value.clone())),
        }
    }
    Value::of_entries(
        entries.into_iter().map(|(name, value)| (Key::String(name.into()), value.into())).collect(),
    )
}
