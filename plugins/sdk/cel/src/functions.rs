//! The library: functions of CEL itself, of its extensions, and of Kubernetes.

mod call;
mod convert;
mod formats;
mod lists;
mod net;
mod optional;
mod quantities;
mod regexes;
mod strings;
mod times;
mod urls;

pub(crate) use call::{Call, Function};
pub use times::parse_duration;

use crate::budget::{Budget, Limits};
use crate::value::Value;

const LIBRARIES: &[&[Function]] = &[
    convert::FUNCTIONS,
    strings::FUNCTIONS,
    lists::FUNCTIONS,
    regexes::FUNCTIONS,
    quantities::FUNCTIONS,
    optional::FUNCTIONS,
    net::FUNCTIONS,
    urls::FUNCTIONS,
    times::FUNCTIONS,
    formats::FUNCTIONS,
];

/// Namespaces of functions, which are no variables.
const NAMESPACES: &[&str] = &["optional", "sets", "lists", "strings", "format", "ip"];

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    LIBRARIES.iter().flat_map(|library| library.iter()).find(|function| function.name == name)
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().flat_map(|library| library.iter()).map(|function| function.name)
}

/// Whether a name is one of functions, unless a variable has it.
pub(crate) fn is_namespace(name: &str) -> bool {
    NAMESPACES.contains(&name) && name != "ip"
}

/// Every function with its overloads, in the form `string.(int) string`.
pub fn library() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    LIBRARIES.iter().flat_map(|library| library.iter()).map(|function| (function.name, function.signatures))
}

/// Whether a text is a pattern.
pub(crate) fn check_pattern(pattern: &str) -> Result<(), String> {
    regexes::compile(pattern).map(|_| ())
}

/// The steps that compiling a pattern counts for.
pub(crate) fn steps_of_compiling(pattern: &str) -> u64 {
    regexes::steps("", pattern)
}

/// What a function of one text makes of it.
pub(crate) fn convert(name: &str, text: &str) -> Result<Value, String> {
    let Some(function) = find(name) else { return Err(format!("there is no function {name}()")) };
    let budget = Budget::new(Limits::DEFAULT);
    (function.run)(&Call { name: function.name, args: &[Value::text(text)], budget: &budget })
        .map_err(|failure| failure.message)
}
