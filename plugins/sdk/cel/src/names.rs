//! Names that have a meaning elsewhere, or another one here.

use crate::ast::{Access, Expr, ExprKind, Macro};
use crate::error::{Fault, shortened};
use crate::functions;
use crate::near;
use crate::value::Value;

/// Words that can't be names of variables.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Types whose names have points.
const QUALIFIED_TYPES: &[&str] = &[
    "net.IP",
    "net.CIDR",
    "kubernetes.Quantity",
    "kubernetes.URL",
    "kubernetes.NamedFormat",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
];

/// Names of functions that aren't CEL's own words for it.
const FOREIGN: &[(&str, &str)] = &[
    ("len", "the length is size(…)"),
    ("length", "the length is size(…)"),
    ("includes", "texts have contains(…), lists are asked by `element in list`"),
    ("toLowerCase", "it is called lowerAscii()"),
    ("toUpperCase", "it is called upperAscii()"),
    ("lower", "it is called lowerAscii()"),
    ("upper", "it is called upperAscii()"),
    ("any", "it is called exists(…)"),
    ("some", "it is called exists(…)"),
    ("every", "it is called all(…)"),
    ("match", "it is called matches(…)"),
    ("hasKey", "keys are asked for by `key in map`"),
    ("containsKey", "keys are asked for by `key in map`"),
    ("has", "it is called has(object.field); keys of maps are asked for by `'key' in map`"),
    ("get", "it is written map['key'], or map[?'key'].orValue(…) where the key may be missing"),
    ("count", "the length is size(…)"),
    ("isEmpty", "it is written size(…) == 0"),
    ("empty", "it is written size(…) == 0"),
    ("concat", "texts and lists are joined by +"),
    ("strip", "it is called trim()"),
    ("regex", "it is called matches(…)"),
    ("group", "a node asks no authorizer"),
    ("path", "a node asks no authorizer"),
    ("serviceAccount", "a node asks no authorizer"),
    ("format.byte", "bytes aren't checked here; see the chapter's differences"),
    ("now", "the time of the decision is request.now"),
    ("semver", "versions aren't compared here; see the chapter's differences"),
];

/// What is written instead of a word that is reserved.
pub(crate) fn instead_of(reserved: &str) -> &'static str {
    match reserved {
        "if" | "else" => "a condition is written a ? b : c",
        "for" | "while" | "loop" => "lists are asked by all(x, …), exists(x, …), filter(x, …) and map(x, …)",
        "let" | "var" | "const" | "function" | "return" => "an expression has no statements",
        _ => "no variable has this name",
    }
}

/// Whether no variable can have this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The type that a name with points stands for, whatever variables are called.
pub(crate) fn qualified_type(operand: &Expr, field: &str) -> Option<Value> {
    let (first, middle) = match &operand.kind {
        ExprKind::Ident(first) => (first, None),
        ExprKind::Select { operand, field, mode: Access::Get } => match &operand.kind {
            ExprKind::Ident(first) => (first, Some(&**field)),
            _ => return None,
        },
        _ => return None,
    };
    let parts = || std::iter::once(&**first).chain(middle).chain([field]);
    QUALIFIED_TYPES.iter().copied().find(|name| name.split('.').eq(parts())).map(Value::Type)
}

/// Says that there is no such function, with the one that was probably meant.
pub(crate) fn unknown_function(name: &str, at: u32) -> Fault {
    let fault = Fault::new(at, format!("there is no function {}()", shortened(name)));
    if let Some((_, help)) = FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
        return fault.help(*help);
    }
    let known = functions::names().chain(Macro::names()).chain(["has"]);
    if let Some(nearest) = near::nearest(name, known) {
        return fault.help(format!("did you mean {nearest}()?"));
    }
    // Short names are near to many, and those of the authorizer are asked for by their own names alone.
    let foreign = FOREIGN.iter().filter(|(foreign, help)| foreign.len() > 4 && !help.ends_with("authorizer"));
    let foreign = near::nearest(name, foreign.map(|(foreign, _)| *foreign));
    match FOREIGN.iter().find(|(name, _)| Some(*name) == foreign) {
        Some((_, help)) => fault.help(*help),
        None => fault.help("functions are those of CEL and of Kubernetes' libraries"),
    }
}

/// A field's name as Kubernetes escapes those that CEL has no words for: `__if__`, `__dot__`, `__dash__`, `__slash__`,
/// `__underscores__`.
pub(crate) fn unescaped(name: &str) -> String {
    let word = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if word.is_some_and(|word| RESERVED.contains(&word) || matches!(word, "true" | "false" | "null" | "in")) {
        return word.unwrap_or_default().to_owned();
    }
    if !name.contains("__") {
        return name.to_owned();
    }
    let replaced = name.replace("__dot__", ".").replace("__dash__", "-").replace("__slash__", "/");
    replaced.replace("__underscores__", "__")
}
