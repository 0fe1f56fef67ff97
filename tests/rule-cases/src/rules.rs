//! Whole configurations.

use serde_json::{Map, Value, json};

use crate::Choices;
use crate::expressions::Writer;

/// Types of variables.
const TYPES: [char; 6] = ['b', 's', 'i', 'l', 'q', 't'];

/// The operations of the contract.
pub(crate) const OPERATIONS: &[&str] =
    &["add", "resize", "update", "ephemeral", "image-resolved", "readmit", "recheck"];

const REASONS: &[&str] = &["ImageNotAllowed", "Night", "A", "no reason", ""];
const MESSAGES: &[&str] = &["no", " one more is needed ", "two\nlines", ""];
const TIMES: &[&str] = &["30s", "1h", "5m0.5s", "0s", "2h", "soon"];

/// A configuration of the handler `cel`. Each of `given` stands somewhere in it as an expression.
pub fn rules(choices: &mut Choices, given: &[&str]) -> Value {
    let mut rules = Map::new();
    let mut writer = Writer::new(choices);
    if !writer.choices.one_in(3) {
        rules.insert("params".to_owned(), params(&mut writer));
    }
    let mut given = given.iter().map(|expression| (*expression).to_owned());
    let mut next = |writer: &mut Writer<'_>, of| given.next().unwrap_or_else(|| writer.expression(of));
    let mut variables = Vec::new();
    for index in 0..writer.choices.below(4) {
        let of = TYPES[writer.choices.below(TYPES.len())];
        let name = if writer.choices.one_in(40) { "no name".to_owned() } else { format!("v{index}") };
        variables.push(json!({"name": name, "expression": next(&mut writer, of)}));
        writer.learn(of, &format!("variables.{name}"));
    }
    let conditions: Vec<Value> = (0..writer.choices.below(3))
        .map(|index| json!({"name": format!("c{index}"), "expression": next(&mut writer, 'b')}))
        .collect();
    let mut validations: Vec<Value> = (0..1 + writer.choices.below(5))
        .map(|_| {
            let expression = next(&mut writer, 'b');
            let message = if writer.choices.one_in(3) { Some(next(&mut writer, 's')) } else { None };
            validation(writer.choices, expression, message)
        })
        .collect();
    rules.insert("variables".to_owned(), variables.into());
    rules.insert("matchConditions".to_owned(), conditions.into());
    if writer.choices.one_in(50) {
        validations.push(json!({"expression": 1}));
    }
    validations.extend(given.map(|expression| json!({"expression": expression})));
    rules.insert("validations".to_owned(), validations.into());
    if choices.one_in(2) {
        let operations: Vec<&str> = (0..choices.below(6)).map(|_| choices.of(OPERATIONS)).collect();
        rules.insert("operations".to_owned(), operations.into());
    }
    Value::Object(rules)
}

fn params(writer: &mut Writer<'_>) -> Value {
    if writer.choices.one_in(8) {
        return json!([1, null, {"a": 1e300}]);
    }
    writer.learn('l', "params.names");
    writer.learn('i', "params.most");
    writer.learn('s', "params.more.word");
    writer.learn('b', "has(params.missing)");
    json!({"names": ["web", "nginx:1", ""], "most": writer.choices.below(2000), "more": {"word": "app"}})
}

fn validation(choices: &mut Choices, expression: String, message: Option<String>) -> Value {
    let mut rule = Map::new();
    rule.insert("expression".to_owned(), expression.into());
    if let Some(message) = message {
        rule.insert("messageExpression".to_owned(), message.into());
    }
    // The first words of a list are those that are taken; the others come rarely.
    let mut word = |choices: &mut Choices, key: &str, words: &[&str], taken: usize| {
        let some = if choices.one_in(30) { words } else { words.get(..taken).unwrap_or(words) };
        rule.insert(key.to_owned(), choices.of(some).into());
    };
    if choices.one_in(2) {
        word(choices, "message", MESSAGES, 2);
    }
    if choices.one_in(2) {
        word(choices, "reason", REASONS, 3);
    }
    if choices.one_in(3) {
        word(choices, "action", &["Defer", "Reject", "Shortage"], 1);
        word(choices, "retryAfter", TIMES, 3);
    }
    Value::Object(rule)
}
