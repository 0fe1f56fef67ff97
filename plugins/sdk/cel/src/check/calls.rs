//! Calls: which overload takes the arguments, and what literals among them say already.

use std::cell::Cell;

use crate::ast::{Expr, ExprKind};
use crate::budget::Limits;
use crate::error::Fault;
use crate::functions::{self, Function};
use crate::types::{Type, list_of_types};
use crate::value::Value;

use super::{help, is_alike};

/// The overloads of a function.
pub(super) type Overloads = Vec<Signature>;

/// One overload.
pub(super) struct Signature {
    receiver: Option<Type>,
    params: Vec<Type>,
    result: Type,
}

impl Signature {
    /// Reads `string.(int) string`.
    fn parse(text: &str) -> Self {
        let (head, result) = text.rsplit_once(' ').unwrap_or((text, "dyn"));
        let (receiver, params) = match head.split_once(".(") {
            Some((receiver, params)) => (Some(Type::parse(receiver)), params),
            None => (None, head.strip_prefix('(').unwrap_or(head)),
        };
        let params = list_of_types(params.strip_suffix(')').unwrap_or(params));
        Self { receiver, params, result: Type::parse(result) }
    }

    /// The result for these arguments, the receiver first; none if it doesn't take them.
    fn result(&self, has_receiver: bool, args: &[Type]) -> Option<Type> {
        let expected: Vec<&Type> = self.receiver.iter().chain(&self.params).collect();
        if self.receiver.is_some() != has_receiver || expected.len() != args.len() {
            return None;
        }
        let mut bound: [Option<Type>; 2] = [None, None];
        let fits = expected.iter().zip(args).all(|(expected, arg)| takes(expected, arg, &mut bound));
        fits.then(|| filled(&self.result, &bound))
    }
}

fn slot(letter: char) -> usize {
    usize::from(letter == 'B')
}

/// Whether a parameter takes an argument; what its letters stand for is kept.
fn takes(expected: &Type, arg: &Type, bound: &mut [Option<Type>; 2]) -> bool {
    match (expected, arg) {
        (Type::Param(letter), _) => match &bound[slot(*letter)] {
            Some(known) => super::joined(known, arg).is_some(),
            None => {
                bound[slot(*letter)] = Some(arg.clone());
                true
            }
        },
        (_, Type::Dyn) | (Type::Dyn, _) => true,
        (Type::List(expected), Type::List(arg)) | (Type::Optional(expected), Type::Optional(arg)) => {
            takes(expected, arg, bound)
        }
        (Type::Map(key, value), Type::Map(arg_key, arg_value)) => {
            takes(key, arg_key, bound) && takes(value, arg_value, bound)
        }
        (Type::Map(..), Type::Object(_)) => true,
        _ => is_alike(expected, arg),
    }
}

fn filled(of: &Type, bound: &[Option<Type>; 2]) -> Type {
    match of {
        Type::Param(letter) => bound[slot(*letter)].clone().unwrap_or(Type::Dyn),
        Type::List(inner) => Type::List(filled(inner, bound).into()),
        Type::Optional(inner) => Type::Optional(filled(inner, bound).into()),
        Type::Map(key, value) => Type::Map(filled(key, bound).into(), filled(value, bound).into()),
        other => other.clone(),
    }
}

pub(super) fn overloads(function: &Function) -> Overloads {
    function.signatures.iter().map(|text| Signature::parse(text)).collect()
}

/// The type of a call.
pub(super) fn result(
    function: &Function,
    signatures: &Overloads,
    has_receiver: bool,
    args: &[Type],
    at: u32,
) -> Result<Type, Fault> {
    let mut results = signatures.iter().filter_map(|signature| signature.result(has_receiver, args));
    if let Some(first) = results.next() {
        // Arguments of unknown types fit several overloads: the result is known only if all agree.
        return Ok(if results.all(|other| other == first) { first } else { Type::Dyn });
    }
    let name = function.name;
    let is_method = signatures.iter().any(|signature| signature.receiver.is_some());
    let is_function = signatures.iter().any(|signature| signature.receiver.is_none());
    if has_receiver && !is_method {
        return Err(Fault::new(at, format!("{name}() is no method")).help(format!("it is called {name}(…)")));
    }
    if !has_receiver && !is_function {
        return Err(Fault::new(at, format!("{name}() is a method")).help(format!("it is called x.{name}(…)")));
    }
    let found: Vec<String> = args.iter().map(ToString::to_string).collect();
    let found = match (has_receiver, found.split_first()) {
        (true, Some((receiver, rest))) => format!("{receiver}.{name}({})", rest.join(", ")),
        _ => format!("{name}({})", found.join(", ")),
    };
    let there: Vec<String> = function.signatures.iter().map(|signature| overload(name, signature)).collect();
    let fault = Fault::new(at, format!("there is no {found}"));
    let is_optional = matches!(args.first(), Some(Type::Optional(_))) && has_receiver;
    let of_other = args.first().filter(|_| has_receiver).and_then(|of| help::other_receiver(name, of));
    Err(match of_other {
        _ if is_optional => fault.help("the value may be missing: say what counts then by .orValue(…)"),
        Some(help) => fault.help(help),
        None => fault.help(format!("there is {}", there.join(", "))),
    })
}

/// An overload as people write it: `string.charAt(int)`.
pub(crate) fn overload(name: &str, signature: &str) -> String {
    let head = signature.rsplit_once(' ').map_or(signature, |(head, _)| head);
    match head.split_once(".(") {
        Some((receiver, params)) => format!("{receiver}.{name}({params}"),
        None => format!("{name}{head}"),
    }
}

/// What is known of a call whose arguments stand there: patterns, amounts, times, addresses, formats.
pub(super) fn check_literals(name: &str, args: &[Expr], pattern_steps: &Cell<u64>) -> Result<(), Fault> {
    let text = |index: usize| match args.get(index)?.kind {
        ExprKind::Literal(Value::String(ref text)) => Some((text, args.get(index)?.at)),
        _ => None,
    };
    let (index, is_converted) = match name {
        "matches" | "find" | "findAll" => (1, false),
        "quantity" | "duration" | "timestamp" | "url" | "cidr" => (0, true),
        "ip" => (0, true),
        "format" => return check_format(args),
        _ => return Ok(()),
    };
    let Some((text, at)) = text(index) else { return Ok(()) };
    if !is_converted {
        let steps = pattern_steps.get().saturating_add(functions::steps_of_compiling(text));
        pattern_steps.set(steps);
        if steps > Limits::DEFAULT.steps {
            let most = Limits::DEFAULT.steps;
            return Err(Fault::new(
                at,
                format!("compiling all patterns up to this one takes more than {most} steps"),
            )
            .help("write fewer of them, or shorter ones"));
        }
        return functions::check_pattern(text).map_err(|problem| {
            Fault::new(at, problem).help("patterns are those of RE2, best in a raw text such as r'^\\d+$'")
        });
    }
    let Err(problem) = functions::convert(name, text) else { return Ok(()) };
    let fault = Fault::new(at, problem);
    Err(match name {
        "quantity" => fault.help("amounts are written like 500m, 1.5Gi or 2e3"),
        "ip" => fault.help("addresses are written like 10.0.0.1 or fd00::1"),
        "url" => fault.help("URLs are written like https://example.com:8443/path"),
        // The others' messages say how they are written.
        _ => fault,
    })
}

/// `'…'.format([…])` has as many arguments as clauses.
fn check_format(args: &[Expr]) -> Result<(), Fault> {
    let [
        Expr { kind: ExprKind::Literal(Value::String(pattern)), at, .. },
        Expr { kind: ExprKind::List(elements), .. },
    ] = args
    else {
        return Ok(());
    };
    let clauses = pattern.replace("%%", "").matches('%').count();
    if clauses == elements.len() {
        return Ok(());
    }
    Err(Fault::new(*at, format!("the format has {clauses} clauses and {} arguments", elements.len()))
        .help("each clause takes one; % itself is written %%"))
}
