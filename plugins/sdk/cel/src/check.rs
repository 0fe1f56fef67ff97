//! What can be known of an expression before it is evaluated: variables, fields, functions and types.

mod calls;
mod help;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ast::{Access, BinaryOp, Comprehension, Expr, ExprKind, Macro};
use crate::error::Fault;
use crate::eval::type_named;
use crate::near;
use crate::types::{Schema, Type};
use crate::value::Value;

/// What an expression may refer to.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Objects of the variables' types.
    pub schema: Schema,
    /// Names of variables with their types.
    pub variables: Vec<(String, Type)>,
    /// Names that aren't there, with what to do instead: variables of Kubernetes that a node has nothing for, and fields as
    /// `Object.field`.
    pub missing: Vec<(&'static str, &'static str)>,
    /// Steps that compiling the patterns of all expressions has taken so far.
    pub pattern_steps: Cell<u64>,
}

/// The type of an expression.
pub(crate) fn check(expr: &Expr, environment: &Environment) -> Result<Type, Fault> {
    Checker { environment, locals: Vec::new(), overloads: BTreeMap::new() }.of(expr)
}

struct Checker<'a> {
    environment: &'a Environment,
    locals: Vec<(Rc<str>, Type)>,
    /// Those of functions that were called already, by name.
    overloads: BTreeMap<&'static str, calls::Overloads>,
}

type Checked = Result<Type, Fault>;

impl Checker<'_> {
    fn of(&mut self, expr: &Expr) -> Checked {
        match &expr.kind {
            ExprKind::Literal(value) => Ok(of_literal(value)),
            ExprKind::Ident(name) => self.variable(name, expr.at),
            ExprKind::Select { operand, field, mode } => {
                let of = self.of(operand)?;
                self.field(&of, field, *mode, expr.at)
            }
            ExprKind::Index { operand, index, is_optional } => {
                self.index(operand, index, *is_optional, expr.at)
            }
            ExprKind::Call { function, has_receiver, args } => {
                let types = match &args[..] {
                    // What a format is filled with may be of any types.
                    [pattern, Expr { kind: ExprKind::List(elements), .. }] if function.name == "format" => {
                        elements.iter().try_for_each(|(element, _)| self.of(element).map(|_| ()))?;
                        vec![self.of(pattern)?, Type::list(Type::Dyn)]
                    }
                    _ => self.all(args)?,
                };
                calls::check_literals(function.name, args, &self.environment.pattern_steps)?;
                let overloads =
                    self.overloads.entry(function.name).or_insert_with(|| calls::overloads(function));
                calls::result(function, overloads, *has_receiver, &types, expr.at)
            }
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Not(operand) => {
                self.condition(operand, "!")?;
                Ok(Type::Bool)
            }
            ExprKind::Negate(operand) => match self.of(operand)? {
                of @ (Type::Int | Type::Double | Type::Duration | Type::Dyn) => Ok(of),
                of => Err(Fault::new(expr.at, format!("- takes a number, not {of}"))
                    .help("numbers in texts are read by int(…) and double(…)")),
            },
            ExprKind::Binary(op, left, right) => {
                let left = self.of(left)?;
                let right = self.of(right)?;
                binary(*op, &left, &right, expr.at)
            }
            ExprKind::And(operands) => self.conditions(operands, "&&"),
            ExprKind::Or(operands) => self.conditions(operands, "||"),
            ExprKind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                self.condition(condition, "?:")?;
                let yes = self.of(yes)?;
                let at = no.at;
                let no = self.of(no)?;
                joined(&yes, &no).ok_or_else(|| {
                    Fault::new(at, format!("the results of ?: have different types, {yes} and {no}"))
                        .help("write dyn(…) around one of them if both are meant")
                })
            }
            ExprKind::Comprehension(it) => self.comprehension(it, expr.at),
        }
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Type>, Fault> {
        exprs.iter().map(|expr| self.of(expr)).collect()
    }

    fn condition(&mut self, expr: &Expr, of: &str) -> Result<(), Fault> {
        match self.of(expr)? {
            Type::Bool | Type::Dyn => Ok(()),
            found => Err(help::no_condition(of, &found, expr.at)),
        }
    }

    fn conditions(&mut self, operands: &[Expr], sign: &str) -> Checked {
        for operand in operands {
            self.condition(operand, sign)?;
        }
        Ok(Type::Bool)
    }

    fn variable(&self, name: &str, at: u32) -> Checked {
        if let Some((_, of)) = self.locals.iter().rev().find(|(local, _)| **local == *name) {
            return Ok(of.clone());
        }
        if let Some((_, of)) = self.environment.variables.iter().find(|(variable, _)| variable == name) {
            return Ok(of.clone());
        }
        if type_named(name).is_some() {
            return Ok(Type::Type);
        }
        let fault = Fault::new(at, format!("there is no variable {name}"));
        if let Some((_, help)) = self.environment.missing.iter().find(|(missing, _)| *missing == name) {
            return Err(fault.help(*help));
        }
        let locals = self.locals.iter().map(|(local, _)| &**local);
        let known = locals.chain(self.environment.variables.iter().map(|(variable, _)| variable.as_str()));
        Err(match near::nearest(name, known.clone()) {
            Some(nearest) => fault.help(format!("did you mean {nearest}?")),
            None => {
                let is_word = name.starts_with(|letter: char| letter.is_ascii_uppercase());
                let text = if is_word { format!("; a text is written '{name}'") } else { String::new() };
                fault.help(format!("there are {}{text}", known.collect::<Vec<_>>().join(", ")))
            }
        })
    }

    fn field(&self, operand: &Type, field: &str, mode: Access, at: u32) -> Checked {
        let (of, is_optional) = match operand {
            Type::Optional(inner) => (&**inner, true),
            other => (other, false),
        };
        let found = match of {
            Type::Dyn | Type::Null => Type::Dyn,
            Type::Map(_, value) => (**value).clone(),
            Type::Object(name) => match self.environment.schema.fields(name) {
                None => Type::Dyn,
                Some(fields) => match fields.get(field) {
                    Some(of) => of.clone(),
                    None if mode != Access::Get && self.environment.schema.is_open(name) => Type::Dyn,
                    None => {
                        return Err(self.unknown_field(name, field, fields.keys().map(|field| &**field), at));
                    }
                },
            },
            other => return Err(help::no_fields(other, field, at)),
        };
        Ok(match mode {
            Access::Test => Type::Bool,
            Access::Get if !is_optional => found,
            Access::Get | Access::Optional => Type::Optional(Rc::new(found)),
        })
    }

    fn unknown_field<'a>(
        &self,
        object: &str,
        field: &str,
        fields: impl Iterator<Item = &'a str> + Clone,
        at: u32,
    ) -> Fault {
        let mut missing = self.environment.missing.iter();
        let fault = Fault::new(at, format!("{object} has no field {field}"));
        match missing.find(|(name, _)| name.split_once('.') == Some((object, field))) {
            Some((_, help)) => fault.help(*help),
            None => help::near_fields(fault, field, fields),
        }
    }

    fn index(&mut self, operand: &Expr, index: &Expr, is_optional: bool, at: u32) -> Checked {
        let of = self.of(operand)?;
        let by = self.of(index)?;
        let (of, was_optional) = match of {
            Type::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        };
        let unfit = |takes: &Type| help::no_index(&of, takes, &by, index.at);
        let found = match &of {
            Type::Dyn | Type::Null => Type::Dyn,
            Type::List(element) => match by {
                Type::Int | Type::UInt | Type::Double | Type::Dyn => (**element).clone(),
                _ => return Err(unfit(&Type::Int)),
            },
            Type::Map(key, value) if is_alike(key, &by) => (**value).clone(),
            Type::Map(key, _) => return Err(unfit(key)),
            // A field whose name is computed isn't looked up.
            Type::Object(name) => match &index.kind {
                ExprKind::Literal(Value::String(field)) => {
                    self.field(&Type::Object(name.clone()), field, Access::Get, index.at)?
                }
                _ => Type::Dyn,
            },
            other => return Err(help::no_elements(other, at)),
        };
        Ok(if is_optional || was_optional { Type::Optional(Rc::new(found)) } else { found })
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> Checked {
        let mut of = None;
        for (element, is_optional) in elements {
            let found = self.of(element)?;
            let found = if *is_optional { unwrapped(found, element.at)? } else { found };
            of = Some(same_as_before(of, found, element.at, "the elements of a list")?);
        }
        Ok(Type::list(of.unwrap_or(Type::Dyn)))
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Checked {
        let (mut key_of, mut value_of) = (None, None);
        for (key, value, is_optional) in entries {
            let found = self.of(key)?;
            if !matches!(found, Type::Bool | Type::Int | Type::UInt | Type::String | Type::Dyn) {
                return Err(Fault::new(key.at, format!("{found} can't be a key of a map"))
                    .help("keys are texts, whole numbers and bools"));
            }
            key_of = Some(same_as_before(key_of, found, key.at, "the keys of a map")?);
            let found = self.of(value)?;
            let found = if *is_optional { unwrapped(found, value.at)? } else { found };
            value_of = Some(same_as_before(value_of, found, value.at, "the values of a map")?);
        }
        Ok(Type::Map(Rc::new(key_of.unwrap_or(Type::Dyn)), Rc::new(value_of.unwrap_or(Type::Dyn))))
    }

    fn comprehension(&mut self, it: &Comprehension, at: u32) -> Checked {
        let range = self.of(&it.range)?;
        let name = it.kind.name();
        let is_optional = matches!(it.kind, Macro::OptMap | Macro::OptFlatMap);
        let (first, second) = match (&range, &it.var2) {
            (Type::Optional(value), _) if is_optional => ((**value).clone(), Type::Dyn),
            (Type::Dyn | Type::Null, _) => (Type::Dyn, Type::Dyn),
            (Type::List(element), None) if !is_optional => ((**element).clone(), Type::Dyn),
            (Type::List(element), Some(_)) => (Type::Int, (**element).clone()),
            (Type::Map(key, value), _) if !is_optional => ((**key).clone(), (**value).clone()),
            (Type::Object(_), _) if !is_optional => (Type::String, Type::Dyn),
            (other, _) => {
                let takes = if is_optional { "an optional value" } else { "a list or a map" };
                return Err(help::no_range(name, takes, other, at));
            }
        };
        let outside = self.locals.len();
        self.locals.push((it.var.clone(), first.clone()));
        self.locals.extend(it.var2.clone().map(|var2| (var2, second)));
        if let Some(filter) = &it.filter {
            self.condition(filter, name)?;
        }
        let result = match it.kind {
            Macro::All | Macro::Exists | Macro::ExistsOne | Macro::Filter => {
                self.condition(&it.body, &format!("{name}()"))?;
                if it.kind == Macro::Filter { Type::list(first.clone()) } else { Type::Bool }
            }
            _ => self.of(&it.body)?,
        };
        self.locals.truncate(outside);
        Ok(match it.kind {
            Macro::Map | Macro::TransformList => Type::list(result),
            Macro::SortBy => range,
            Macro::TransformMap => Type::Map(Rc::new(first), Rc::new(result)),
            Macro::OptMap => Type::Optional(Rc::new(result)),
            _ => result,
        })
    }
}

fn unwrapped(of: Type, at: u32) -> Checked {
    match of {
        Type::Optional(inner) => Ok((*inner).clone()),
        Type::Dyn => Ok(Type::Dyn),
        other => Err(Fault::new(at, format!("? takes an optional value, not {other}"))
            .help("leave out the ?, or ask for what may be missing by .?field or [?key]")),
    }
}

fn same_as_before(before: Option<Type>, found: Type, at: u32, what: &str) -> Checked {
    let Some(before) = before else { return Ok(found) };
    joined(&before, &found).ok_or_else(|| {
        Fault::new(at, format!("{what} have different types, {before} and {found}"))
            .help("write dyn(…) around one of them if both are meant")
    })
}

fn of_literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::UInt(_) => Type::UInt,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::Type(_) => Type::Type,
        _ => Type::Dyn,
    }
}

/// The type that both are; none if there is none. What is unknown may be anything.
pub(super) fn joined(one: &Type, other: &Type) -> Option<Type> {
    match (one, other) {
        _ if one == other => Some(one.clone()),
        (Type::Dyn, _) | (_, Type::Dyn) => Some(Type::Dyn),
        // `null` stands for a missing object, time or amount; for nothing else.
        (Type::Null, of @ (Type::Object(_) | Type::Timestamp | Type::Duration | Type::Map(..)))
        | (of @ (Type::Object(_) | Type::Timestamp | Type::Duration | Type::Map(..)), Type::Null) => {
            Some(of.clone())
        }
        (Type::List(one), Type::List(other)) => joined(one, other).map(Type::list),
        (Type::Optional(one), Type::Optional(other)) => {
            joined(one, other).map(|of| Type::Optional(Rc::new(of)))
        }
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            Some(Type::Map(Rc::new(joined(key, other_key)?), Rc::new(joined(value, other_value)?)))
        }
        (Type::Object(_), of @ Type::Map(..)) | (of @ Type::Map(..), Type::Object(_)) => Some(of.clone()),
        _ => None,
    }
}

pub(super) fn is_alike(one: &Type, other: &Type) -> bool {
    joined(one, other).is_some()
}

pub(super) fn is_number(of: &Type) -> bool {
    matches!(of, Type::Int | Type::UInt | Type::Double)
}

fn binary(op: BinaryOp, left: &Type, right: &Type, at: u32) -> Checked {
    let found = match op {
        BinaryOp::Equal | BinaryOp::NotEqual => {
            let is_fit = is_alike(left, right)
                || matches!((left, right), (Type::Null, _) | (_, Type::Null)) && !is_plain(left, right);
            is_fit.then_some(Type::Bool)
        }
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
            let is_fit = is_number(left) && is_number(right) || is_alike(left, right);
            (is_fit && has_order(left) && has_order(right)).then_some(Type::Bool)
        }
        BinaryOp::In => match right {
            Type::Dyn | Type::Object(_) => Some(Type::Bool),
            Type::List(of) | Type::Map(of, _) if is_alike(of, left) => Some(Type::Bool),
            _ => None,
        },
        BinaryOp::Add => match (left, right) {
            (Type::String | Type::Bytes, _) if left == right => Some(left.clone()),
            (Type::List(one), Type::List(other)) => Some(Type::list(joined(one, other).unwrap_or(Type::Dyn))),
            _ => of_numbers(op, left, right),
        },
        _ => of_numbers(op, left, right),
    };
    found.ok_or_else(|| help::no_operands(op, left, right, at))
}

fn has_order(of: &Type) -> bool {
    is_number(of)
        || matches!(
            of,
            Type::Dyn | Type::Bool | Type::String | Type::Bytes | Type::Timestamp | Type::Duration
        )
}

/// Whether one of the two is a type that is never `null`.
fn is_plain(left: &Type, right: &Type) -> bool {
    let plain =
        |of: &Type| is_number(of) || matches!(of, Type::Bool | Type::String | Type::Bytes | Type::List(_));
    plain(left) || plain(right)
}

fn of_numbers(op: BinaryOp, left: &Type, right: &Type) -> Option<Type> {
    let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
    match (left, right) {
        (Type::Dyn, _) | (_, Type::Dyn) => Some(Type::Dyn),
        (Type::Double, Type::Double) if op == BinaryOp::Modulo => None,
        (Type::Int, Type::Int) | (Type::UInt, Type::UInt) | (Type::Double, Type::Double) => {
            Some(left.clone())
        }
        (Type::Duration, Type::Duration) if is_sum => Some(Type::Duration),
        (Type::Timestamp, Type::Duration) if is_sum => Some(Type::Timestamp),
        (Type::Duration, Type::Timestamp) if op == BinaryOp::Add => Some(Type::Timestamp),
        (Type::Timestamp, Type::Timestamp) if op == BinaryOp::Subtract => Some(Type::Duration),
        _ => None,
    }
}
