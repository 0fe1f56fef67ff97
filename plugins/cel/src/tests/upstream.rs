//! Upstream's examples as rules: what the library says of them alone, the handler says with the types of Kubernetes' objects.

use serde_json::{Value, json};
use witlet_plugin_sdk_0_2::facts::validate;

use super::{asked, said};
use crate::Config;
use cases::ALL;

#[path = "../../../sdk/cel/src/tests/upstream/cases.rs"]
mod cases;

/// A field that pods don't have: the library, which knows no types, finds out when it is evaluated, and the handler refuses the rule.
const UNKNOWN: &str = "namex";

/// What comes of one rule: why it isn't taken, or what it says of the pod.
fn judged(expression: &str, pod: &Value) -> String {
    let rules = json!({"validations": [{"expression": expression, "message": "no"}]});
    let config: Config = serde_json::from_value(rules).expect("it decodes");
    match validate(&config) {
        Ok(_) => said(&asked(pod), &config),
        Err(error) => format!("error: {}", error.message()),
    }
}

#[test]
fn upstreams_examples_hold_with_the_types_of_kubernetes() {
    let pod: Value = serde_json::from_str(cases::POD).expect("a pod");
    let mut unknown = 0;
    for (source, expected) in ALL.into_iter().flatten() {
        let (rule, words) = match *expected {
            "true" => ((*source).to_owned(), "admit"),
            "false" => ((*source).to_owned(), "Invalid: no"),
            // A rule is true or false: what has another value is asked for its type.
            value => (
                format!("type({source}) == type({source})"),
                value.strip_prefix("error: ").unwrap_or("admit"),
            ),
        };
        let found = judged(&rule, &pod);
        if source.contains(UNKNOWN) {
            unknown += 1;
            assert!(found.contains("PodSpec has no field namex"), "{source}\n  {found}");
        } else if expected.starts_with("error: ") {
            assert!(found.starts_with("error: ") && found.contains(words), "{source}\n  {found}\n  {words}");
        } else {
            assert_eq!(found, words, "{source}");
        }
    }
    assert_eq!(unknown, 2, "the differences are known");
}
