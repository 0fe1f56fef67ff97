//! Upstream's own examples and unit tests of its CEL libraries, restated for pods and in our words: each expression is checked as
//! when a rule is loaded, then evaluated.

mod cases;

use crate::{Budget, Environment, Failure, Limits, Program, Type, Value, Variables};

struct Pod(Value);

impl Variables for Pod {
    fn get(&self, name: &str, _: &Budget) -> Option<Result<Value, Failure>> {
        (name == "object").then(|| Ok(self.0.clone()))
    }
}

/// The value that an expression has once it was checked, or what is wrong with it, before or then.
fn judged(source: &str, pod: &Pod) -> String {
    let variables = vec![("object".to_owned(), Type::Dyn)];
    let environment = Environment { variables, ..Environment::default() };
    let checked = Program::parse(source).and_then(|program| program.check(&environment).map(|_| program));
    match checked {
        Err(problem) => format!("error: {problem}"),
        Ok(program) => match program.evaluate(pod, &Budget::new(Limits::DEFAULT)) {
            Err(failure) => format!("error: {failure}"),
            Ok(value) => super::show(&value),
        },
    }
}

/// Each expression has the value, or is refused or fails with these words.
fn check(cases: &[(&str, &str)]) {
    let pod = Pod(serde_json::from_str(cases::POD).expect("a pod"));
    for (source, expected) in cases {
        let found = judged(source, &pod);
        match expected.strip_prefix("error: ") {
            Some(words) => {
                assert!(
                    found.starts_with("error: line ") && found.contains(words),
                    "{source}\n  {found}\n  {expected}"
                );
            }
            None => assert_eq!(&found, expected, "{source}"),
        }
    }
}

#[test]
fn rules_of_the_documentation_hold_for_pods() {
    check(cases::RULES_OF_THE_DOCUMENTATION_HOLD_FOR_PODS);
}

#[test]
fn further_rules_of_the_documentation_hold_for_pods() {
    check(cases::FURTHER_RULES_OF_THE_DOCUMENTATION_HOLD_FOR_PODS);
}

#[test]
fn lists_and_patterns_of_the_documentation_hold_for_pods() {
    check(cases::LISTS_AND_PATTERNS_OF_THE_DOCUMENTATION_HOLD_FOR_PODS);
}

#[test]
fn texts_are_those_of_the_string_extension() {
    check(cases::TEXTS_ARE_THOSE_OF_THE_STRING_EXTENSION);
}

#[test]
fn amounts_are_those_of_kubernetes() {
    check(cases::AMOUNTS_ARE_THOSE_OF_KUBERNETES);
}

#[test]
fn addresses_networks_and_urls_are_those_of_kubernetes() {
    check(cases::ADDRESSES_NETWORKS_AND_URLS_ARE_THOSE_OF_KUBERNETES);
}

#[test]
fn formats_of_names_are_those_of_kubernetes() {
    check(cases::FORMATS_OF_NAMES_ARE_THOSE_OF_KUBERNETES);
}

#[test]
fn optional_values_and_macros_are_those_of_cel() {
    check(cases::OPTIONAL_VALUES_AND_MACROS_ARE_THOSE_OF_CEL);
}

#[test]
fn no_group_of_examples_is_left_out() {
    let groups = cases::ALL.map(<[_]>::len);
    assert!(groups.iter().all(|count| *count > 10) && groups.iter().sum::<usize>() > 200, "{groups:?}");
}
