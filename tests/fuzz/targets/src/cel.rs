//! Expressions in CEL, and the objects that they ask: `plugins/sdk/cel`.

use witlet_cel::{Budget, Environment, Failure, Limits, Program, Type, Value, Variables};

use crate::{Target, check_message, split_at_line};

/// What stands between the expression and the object.
const SEPARATOR: &str = "---";

/// Fewer than a node's, so that many inputs are tried in little time.
const LIMITS: Limits = Limits { steps: 20_000, bytes: 1 << 20, depth: 100 };

pub(crate) const TARGET: Target = Target {
    name: "cel",
    run,
    words: &[
        "object.",
        "?.",
        ".?",
        "[?",
        "[0]",
        "['a']",
        "has(",
        ".all(x, ",
        ".exists(x, ",
        ".filter(x, ",
        ".map(x, ",
        ".sortBy(x, ",
        ".transformMap(k, v, ",
        ".optMap(x, ",
        " && ",
        " || ",
        " ? ",
        " : ",
        " in ",
        " == ",
        "-9223372036854775808",
        "1e308",
        "0xFFu",
        "'\\u00e9'",
        "b'\\xff'",
        "r'\\d'",
        "'''",
        ".replace('', 'a')",
        ".split('')",
        ".format(['%s'])",
        ".matches('a*')",
        ".findAll('(a|b)*')",
        ".lastIndexOf('a', 1)",
        ".substring(1, 2)",
        ".flatten(3)",
        "lists.range(9)",
        "quantity('1.5Gi')",
        "quantity('1e999')",
        ".add(1)",
        "timestamp('2026-01-02T03:04:05.6Z')",
        "duration('1h2m3.4s')",
        ".getHours('+02:00')",
        "ip('::1')",
        "cidr('10.0.0.1/8')",
        ".containsIP('10.1.1.1')",
        "url('https://a:1/b%20?c=d')",
        ".getQuery()",
        "format.named('uuid')",
        ".validate('a-')",
        "type(",
        "net.IP",
        "google.protobuf.Timestamp",
        ".first()",
        ".unwrapOpt()",
        ".transformMapEntry(k, v, ",
        ".distinct()",
        ".slice(0, 1)",
        "{?'k': object.?a}",
        "[?object.?a]",
        ".orValue(1)",
        "optional.none()",
        "sets.contains(",
        "size(",
        "dyn(",
        "string(",
        "\n---\n",
        "{\"a\": [1]}",
        "// ",
        "`a-b`",
    ],
};

struct Object(Option<Value>);

impl Variables for Object {
    fn get(&self, name: &str, _: &Budget) -> Option<Result<Value, Failure>> {
        (name == "object").then(|| self.0.clone().ok_or_else(|| Failure::of_variable("no JSON")))
    }
}

/// The expression comes first, then a line `---` and the object as JSON.
fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (source, object) = split_at_line(&text, SEPARATOR);
    let program = match Program::parse(source) {
        Ok(program) => program,
        Err(problem) => {
            check_message(&problem.to_string(), 0);
            let lines = source.split('\n').count();
            return assert!(problem.line <= lines && problem.column <= source.len() + 1, "{problem}");
        }
    };
    let variables = vec![("object".to_owned(), Type::Dyn)];
    let checked = program.check(&Environment { variables, ..Environment::default() });
    if let Err(problem) = &checked {
        check_message(&problem.to_string(), source.len());
    }
    let object = Object(serde_json::from_str(object).ok());
    let evaluate = || {
        let budget = Budget::new(LIMITS);
        let result = program.evaluate(&object, &budget);
        assert!(budget.steps_taken() <= LIMITS.steps);
        (result, budget.steps_taken())
    };
    let ((one, steps), (other, other_steps)) = (evaluate(), evaluate());
    assert_eq!(steps, other_steps, "the same steps");
    assert_eq!(format!("{one:?}"), format!("{other:?}"), "the same result");
    match (&one, &checked) {
        (Err(failure), _) => check_message(&failure.to_string(), source.len()),
        // What the checker says of a type is so.
        (Ok(value), Ok(Type::Bool)) => assert!(matches!(value, Value::Bool(_)), "{value:?}"),
        (Ok(value), Ok(Type::Int)) => assert!(matches!(value, Value::Int(_)), "{value:?}"),
        (Ok(value), Ok(Type::String)) => assert!(matches!(value, Value::String(_)), "{value:?}"),
        (Ok(_), _) => {}
    }
}
