//! Types that don't fit, each with what to do about it.

use crate::ast::BinaryOp;
use crate::error::Fault;
use crate::functions;
use crate::near;
use crate::types::Type;

use super::is_number;

/// How many fields an object may have that a message lists.
const FIELDS_SHOWN_MAX: usize = 12;

/// A field that isn't there, with the one that was probably meant.
pub(super) fn near_fields<'a>(
    fault: Fault,
    field: &str,
    fields: impl Iterator<Item = &'a str> + Clone,
) -> Fault {
    if let Some(nearest) = near::nearest(field, fields.clone()) {
        return fault.help(format!("did you mean {nearest}?"));
    }
    let names: Vec<&str> = fields.collect();
    match names.len() {
        0 => fault.help("it has none"),
        1..=FIELDS_SHOWN_MAX => fault.help(format!("it has {}", names.join(", "))),
        _ => fault.help("its fields are those of Kubernetes' API"),
    }
}

/// A method of texts that was called on another value.
pub(super) fn other_receiver(name: &str, of: &Type) -> Option<&'static str> {
    match (name, of) {
        ("contains", Type::List(_)) => Some("lists are asked by `element in list`"),
        ("contains", Type::Map(..)) => Some("keys are asked for by `key in map`"),
        ("contains", Type::Object(_)) => Some("whether a field is there is asked by has(…)"),
        ("contains", Type::Cidr) => Some("networks have containsIP(…) and containsCIDR(…)"),
        ("matches" | "startsWith" | "endsWith", Type::List(_)) => {
            Some("its elements are asked by exists(x, …) or all(x, …)")
        }
        _ => None,
    }
}

/// What should be a condition isn't one.
pub(super) fn no_condition(of: &str, found: &Type, at: u32) -> Fault {
    let help = match found {
        Type::Optional(_) => {
            return Fault::new(at, format!("{of} takes a bool, not an optional value"))
                .help("say what counts where nothing is, as in .orValue(false)");
        }
        Type::String => "compare it, as in x == '…'",
        found if is_number(found) => "compare it, as in x > 0",
        Type::List(_) | Type::Map(..) => "ask how many it has, as in size(x) > 0",
        Type::Object(_) => "ask one of its fields; whether it is there is asked by has(…)",
        _ => "compare it with another value",
    };
    Fault::new(at, format!("{of} takes a bool, not {found}")).help(help)
}

/// What has no fields was asked for one.
pub(super) fn no_fields(of: &Type, field: &str, at: u32) -> Fault {
    let fault = Fault::new(at, format!("{of} has no fields: .{field} was asked for"));
    match of {
        _ if functions::find(field).is_some() => {
            fault.help(format!("functions are called, as in .{field}(…)"))
        }
        Type::List(_) => fault.help("ask its elements, as in list.all(x, …) or list[0]"),
        Type::String => fault.help("parts of a text are asked for by contains(…), matches(…) and split(…)"),
        _ => fault.help("only objects and maps have fields"),
    }
}

/// What has no elements was asked for one.
pub(super) fn no_elements(of: &Type, at: u32) -> Fault {
    let fault = Fault::new(at, format!("{of} has no elements"));
    match of {
        Type::String => fault.help("its characters are asked for by charAt(…)"),
        _ => fault.help("only lists and maps have elements"),
    }
}

/// A list or a map was asked by what is no index, or no key of it.
pub(super) fn no_index(of: &Type, takes: &Type, by: &Type, at: u32) -> Fault {
    let fault = Fault::new(at, format!("{of} is asked by {takes}, not by {by}"));
    match of {
        Type::List(_) => fault.help("elements are looked for by exists(x, …) or filter(x, …)"),
        _ => fault.help(format!("write {takes}(…) around it")),
    }
}

/// A macro was called on what it can't go through.
pub(super) fn no_range(name: &str, takes: &str, of: &Type, at: u32) -> Fault {
    if let Type::Optional(_) = of {
        return Fault::new(at, format!("{name}() takes {takes}, not an optional value"))
            .help("say what counts where nothing is, as in .orValue([])");
    }
    let fault = Fault::new(at, format!("{name}() takes {takes}, not {of}"));
    match of {
        Type::String => fault.help("texts are searched by contains(…) and matches(…)"),
        _ if takes == "an optional value" => {
            fault.help("a field that may be missing is asked for by .?field")
        }
        _ => fault.help("ask one of its fields that is a list or a map"),
    }
}

/// What an operator doesn't take.
pub(super) fn no_operands(op: BinaryOp, left: &Type, right: &Type, at: u32) -> Fault {
    let fault = Fault::new(at, format!("{} doesn't take {left} and {right}", op.sign()));
    match op {
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => no_comparison(op, left, right, fault),
        BinaryOp::In => match right {
            Type::String => fault.help("texts are searched by text.contains('…')"),
            Type::Optional(_) => fault.help("say what counts where nothing is, as in .orValue([])"),
            Type::List(of) => fault.help(format!("its elements are {of}")),
            Type::Map(of, _) => fault.help(format!("its keys are {of}")),
            _ => fault.help("lists and maps are searched by it"),
        },
        _ => match (left, right) {
            (Type::Optional(_), _) | (_, Type::Optional(_)) => {
                fault.help("say what counts where nothing is, as in .orValue(0)")
            }
            (Type::String, _) | (_, Type::String) if op == BinaryOp::Add => {
                fault.help("write string(…) around what isn't a string")
            }
            (Type::Quantity, _) | (_, Type::Quantity) => fault.help("amounts have add(…) and sub(…)"),
            _ if is_number(left) && is_number(right) => {
                fault.help("write int(…), uint(…) or double(…) around one of them")
            }
            _ => fault.help("numbers are computed with; + also joins texts and lists"),
        },
    }
}

fn no_comparison(op: BinaryOp, left: &Type, right: &Type, fault: Fault) -> Fault {
    let is_equality = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
    match (left, right) {
        (Type::Optional(_), _) | (_, Type::Optional(_)) => {
            fault.help("say what counts where nothing is, as in .orValue('')")
        }
        (Type::Null, _) | (_, Type::Null) => fault.help("whether a field is there is asked by has(…)"),
        (Type::Quantity, _) | (_, Type::Quantity) if is_equality => {
            fault.help("write quantity(…) around the other one")
        }
        (Type::Quantity, _) | (_, Type::Quantity) => {
            fault.help("amounts are compared by isLessThan(…), isGreaterThan(…) and compareTo(…)")
        }
        (Type::String, other) | (other, Type::String) if is_number(other) => {
            fault.help("write int(…) around the string, or quantity(…) around an amount")
        }
        _ if is_number(left) && is_number(right) => {
            fault.help("write int(…), uint(…) or double(…) around one of them")
        }
        (Type::Duration, _) | (_, Type::Duration) => fault.help("spans are written duration('1h30m')"),
        (Type::Timestamp, _) | (_, Type::Timestamp) => {
            fault.help("times are written timestamp('2026-01-02T03:04:05Z')")
        }
        (Type::String, Type::Bool) | (Type::Bool, Type::String) => {
            fault.help("true and false are written without quotation marks")
        }
        _ if is_equality => fault.help("both sides must have the same type"),
        _ => fault.help("both sides must be numbers, texts, bytes, bools or times, and the same of these"),
    }
}
