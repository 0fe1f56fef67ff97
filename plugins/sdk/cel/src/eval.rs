//! Evaluation: a walk over the expression that counts its steps.
//!
//! Errors are absorbed as the CEL specification has it: `false && error` is false, `true || error` is true, and `all` and
//! `exists` are such chains. What a limit ends is never absorbed.

use std::rc::Rc;

use crate::ast::{Access, BinaryOp, Comprehension, Expr, ExprKind, Macro};
use crate::budget::Budget;
use crate::error::Failure;
use crate::functions::{Call, Function};
use crate::ops;
use crate::value::{Key, Map, Value};

/// Where variables come from. They are asked for when an expression needs them, and may be made then.
pub trait Variables {
    /// The value of a variable; none if there is none of this name.
    fn get(&self, name: &str, budget: &Budget) -> Option<Result<Value, Failure>>;

    /// One field of a variable, for one that shouldn't be made as a whole: none if the whole has to be asked for, and none in it if
    /// the variable has no such field.
    fn field(&self, name: &str, field: &str, budget: &Budget) -> Option<Result<Option<Value>, Failure>> {
        let _ = (name, field, budget);
        None
    }
}

/// Names of types, which are values.
const TYPES: &[(&str, &str)] = &[
    ("bool", "bool"),
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("list", "list"),
    ("map", "map"),
    ("null_type", "null_type"),
    ("type", "type"),
    ("optional_type", "optional_type"),
];

/// The type that a name stands for.
pub(crate) fn type_named(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|(other, _)| *other == name).map(|(_, name)| *name)
}

/// The value of an expression.
pub(crate) fn evaluate(
    expr: &Expr,
    source: &str,
    variables: &dyn Variables,
    budget: &Budget,
) -> Result<Value, Failure> {
    let value = Evaluator { variables, budget, locals: Vec::new() }.eval(expr);
    value.map_err(|failure| failure.located(source))
}

struct Evaluator<'a> {
    variables: &'a dyn Variables,
    budget: &'a Budget,
    /// Variables of macros, the innermost last.
    locals: Vec<(Rc<str>, Value)>,
}

impl Evaluator<'_> {
    fn eval(&mut self, expr: &Expr) -> Result<Value, Failure> {
        self.budget.spend(1)?;
        self.budget.enter()?;
        let result = self.eval_kind(expr);
        self.budget.leave();
        result.map_err(|mut failure| {
            if failure.place.is_none() && failure.at.is_none() {
                failure.at = Some(expr.at);
            }
            failure
        })
    }

    fn eval_kind(&mut self, expr: &Expr) -> Result<Value, Failure> {
        match &expr.kind {
            ExprKind::Literal(value) => Ok(value.clone()),
            ExprKind::Ident(name) => self.variable(name),
            ExprKind::Select { operand, field, mode } => self.select(operand, field, *mode),
            ExprKind::Index { operand, index, is_optional } => {
                let operand = self.eval(operand)?;
                let index = self.eval(index)?;
                index_of(&operand, &index, *is_optional, self.budget)
            }
            ExprKind::Call { function, args, .. } => {
                if let ("or" | "orValue", [desired, other]) = (function.name, &args[..]) {
                    return self.or_other(function, desired, other);
                }
                let args = self.all(args)?;
                (function.run)(&Call { name: function.name, args: &args, budget: self.budget })
            }
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Not(operand) => match self.eval(operand)? {
                Value::Bool(is_true) => Ok(Value::Bool(!is_true)),
                other => Err(ops::no_overload("!", &[&other])),
            },
            ExprKind::Negate(operand) => ops::negate(&self.eval(operand)?),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::And(operands) => self.logical(operands, false),
            ExprKind::Or(operands) => self.logical(operands, true),
            ExprKind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match self.eval(condition)? {
                    Value::Bool(true) => self.eval(yes),
                    Value::Bool(false) => self.eval(no),
                    other => Err(ops::no_overload("?:", &[&other])),
                }
            }
            ExprKind::Comprehension(it) => self.comprehension(it),
        }
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Value>, Failure> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<Value, Failure> {
        let left = self.eval(left)?;
        let right = self.eval(right)?;
        ops::binary(op, &left, &right, self.budget)
    }

    fn local(&self, name: &str) -> Option<&Value> {
        self.locals.iter().rev().find(|(local, _)| **local == *name).map(|(_, value)| value)
    }

    fn variable(&self, name: &str) -> Result<Value, Failure> {
        if let Some(value) = self.local(name) {
            return Ok(value.clone());
        }
        match self.variables.get(name, self.budget) {
            Some(value) => value,
            None => match type_named(name) {
                Some(name) => Ok(Value::Type(name)),
                None => Err(format!("there is no variable {name}").into()),
            },
        }
    }

    fn select(&mut self, operand: &Expr, field: &Rc<str>, mode: Access) -> Result<Value, Failure> {
        if let ExprKind::Ident(name) = &operand.kind
            && self.local(name).is_none()
            && let Some(part) = self.variables.field(name, field, self.budget)
        {
            self.budget.spend(1)?;
            return found(part?, field, mode);
        }
        let operand = self.eval(operand)?;
        select_of(&operand, field, mode)
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> Result<Value, Failure> {
        let mut values = Vec::with_capacity(elements.len());
        for (element, is_optional) in elements {
            let value = self.eval(element)?;
            match (is_optional, value) {
                (false, value) => values.push(value),
                (true, Value::Optional(value)) => values.extend(value.map(|value| (*value).clone())),
                (true, other) => return Err(ops::no_overload("[?…]", &[&other])),
            }
        }
        self.made(values)
    }

    fn made(&self, values: Vec<Value>) -> Result<Value, Failure> {
        self.budget.make(values.len() * size_of::<Value>())?;
        Ok(Value::list(values))
    }

    /// The other value is evaluated only where there is none, as in Kubernetes.
    fn or_other(&mut self, function: &Function, desired: &Expr, other: &Expr) -> Result<Value, Failure> {
        let desired = self.eval(desired)?;
        if let Value::Optional(Some(value)) = &desired {
            return Ok(if function.name == "or" { desired.clone() } else { (**value).clone() });
        }
        let args = [desired, self.eval(other)?];
        (function.run)(&Call { name: function.name, args: &args, budget: self.budget })
    }

    fn made_map(&self, mut entries: Vec<(Key, Value)>) -> Result<Value, Failure> {
        self.budget.make(entries.len() * size_of::<(Key, Value)>())?;
        let longest = entries.iter().map(|(key, _)| key.value().bytes()).max().unwrap_or_default();
        ops::spend_many(self.budget, ops::sorting_steps(entries.len()), longest)?;
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(format!("a map has the key {} twice", ops::shown(&pair[0].0.value())).into()),
            None => Ok(Value::of_entries(entries)),
        }
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Result<Value, Failure> {
        let mut made = Vec::with_capacity(entries.len());
        for (key, value, is_optional) in entries {
            let key = self.eval(key)?;
            let key = Key::of(&key).ok_or_else(|| unfit_key(&key))?;
            match (is_optional, self.eval(value)?) {
                (false, value) => made.push((key, value)),
                (true, Value::Optional(value)) => made.extend(value.map(|value| (key, (*value).clone()))),
                (true, other) => return Err(ops::no_overload("{?…}", &[&other])),
            }
        }
        self.made_map(made)
    }

    /// `||` ends with the first operand that is true, `&&` with the first that is false; an error counts only if none is.
    fn logical(&mut self, operands: &[Expr], decisive: bool) -> Result<Value, Failure> {
        let mut absorbed = None;
        for operand in operands {
            match self.condition(operand) {
                Ok(is_true) if is_true == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(failure) if failure.is_limit => return Err(failure),
                Err(failure) => absorbed = absorbed.or(Some(failure)),
            }
        }
        absorbed.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn condition(&mut self, expr: &Expr) -> Result<bool, Failure> {
        match self.eval(expr)? {
            Value::Bool(is_true) => Ok(is_true),
            other => {
                let message = format!("expected bool, found {}", other.type_name());
                Err(Failure { at: Some(expr.at), ..message.into() })
            }
        }
    }

    fn comprehension(&mut self, it: &Comprehension) -> Result<Value, Failure> {
        let range = self.eval(&it.range)?;
        if matches!(it.kind, Macro::OptMap | Macro::OptFlatMap) {
            return self.optional_map(it, range);
        }
        let count = match &range {
            Value::List(list) => list.len(),
            Value::Map(map) => map.entries().len(),
            other => return Err(ops::no_overload(it.kind.name(), &[other])),
        };
        match it.kind {
            Macro::All => self.quantified(it, &range, count, false),
            Macro::Exists => self.quantified(it, &range, count, true),
            Macro::ExistsOne => {
                let mut found = 0_usize;
                for index in 0..count {
                    found += usize::from(self.with(it, &range, index, |this| this.condition(&it.body))?);
                }
                Ok(Value::Bool(found == 1))
            }
            Macro::TransformMap | Macro::TransformMapEntry => self.transformed_map(it, &range, count),
            Macro::SortBy => self.sorted_by(it, &range, count),
            _ => self.transformed_list(it, &range, count),
        }
    }

    /// Evaluates with the macro's variables bound to one element.
    fn with<T>(
        &mut self,
        it: &Comprehension,
        range: &Value,
        index: usize,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.budget.spend(1)?;
        let outside = self.locals.len();
        let (first, second) = match range {
            Value::List(list) => (Value::Int(index as i64), list.get(index).cloned()),
            Value::Map(map) => match map.entries().get(index) {
                Some((key, value)) => (key.value(), Some(value.clone())),
                None => (Value::Null, None),
            },
            _ => (Value::Null, None),
        };
        let second = second.unwrap_or(Value::Null);
        match &it.var2 {
            Some(var2) => self.locals.extend([(it.var.clone(), first), (var2.clone(), second)]),
            None if matches!(range, Value::Map(_)) => self.locals.push((it.var.clone(), first)),
            None => self.locals.push((it.var.clone(), second)),
        }
        let result = work(self);
        self.locals.truncate(outside);
        result
    }

    /// Whether the filter, if there is one, lets the element pass.
    fn passes(&mut self, it: &Comprehension) -> Result<bool, Failure> {
        it.filter.as_ref().map_or(Ok(true), |filter| self.condition(filter))
    }

    fn quantified(
        &mut self,
        it: &Comprehension,
        range: &Value,
        count: usize,
        decisive: bool,
    ) -> Result<Value, Failure> {
        let mut absorbed = None;
        for index in 0..count {
            match self.with(it, range, index, |this| this.condition(&it.body)) {
                Ok(is_true) if is_true == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(failure) if failure.is_limit => return Err(failure),
                Err(failure) => absorbed = absorbed.or(Some(failure)),
            }
        }
        absorbed.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn transformed_list(
        &mut self,
        it: &Comprehension,
        range: &Value,
        count: usize,
    ) -> Result<Value, Failure> {
        let mut values = Vec::new();
        for index in 0..count {
            let value = self.with(it, range, index, |this| {
                if it.kind == Macro::Filter {
                    let element = this.locals.last().map_or(Value::Null, |(_, value)| value.clone());
                    return Ok(this.condition(&it.body)?.then_some(element));
                }
                if this.passes(it)? { this.eval(&it.body).map(Some) } else { Ok(None) }
            })?;
            values.extend(value);
        }
        self.made(values)
    }

    fn transformed_map(&mut self, it: &Comprehension, range: &Value, count: usize) -> Result<Value, Failure> {
        let mut entries = Vec::new();
        for index in 0..count {
            self.with(it, range, index, |this| {
                if !this.passes(it)? {
                    return Ok(());
                }
                let key = this.local(&it.var).and_then(Key::of);
                match (it.kind, this.eval(&it.body)?) {
                    (Macro::TransformMap, value) => entries.extend(key.map(|key| (key, value))),
                    (_, Value::Map(map)) => entries.extend(map.entries().iter().cloned()),
                    (_, other) => return Err(ops::no_overload(it.kind.name(), &[&other])),
                }
                Ok(())
            })?;
        }
        self.made_map(entries)
    }

    fn sorted_by(&mut self, it: &Comprehension, range: &Value, count: usize) -> Result<Value, Failure> {
        let Value::List(list) = range else { return Err(ops::no_overload("sortBy", &[range])) };
        let mut keys = Vec::with_capacity(count);
        for index in 0..count {
            keys.push(self.with(it, range, index, |this| this.eval(&it.body))?);
        }
        let order = ops::order_of(&keys, self.budget)?;
        self.made(order.into_iter().filter_map(|index| list.get(index).cloned()).collect())
    }

    fn optional_map(&mut self, it: &Comprehension, range: Value) -> Result<Value, Failure> {
        let Value::Optional(value) = range else { return Err(ops::no_overload(it.kind.name(), &[&range])) };
        let Some(value) = value else { return Ok(Value::Optional(None)) };
        self.locals.push((it.var.clone(), (*value).clone()));
        let result = self.eval(&it.body);
        self.locals.pop();
        match (it.kind, result?) {
            (Macro::OptMap, value) => Ok(Value::some(value)),
            (_, Value::Optional(value)) => Ok(Value::Optional(value)),
            (_, other) => Err(ops::no_overload("optFlatMap", &[&other])),
        }
    }
}

fn unfit_key(key: &Value) -> Failure {
    format!("a {} can't be a key of a map", key.type_name()).into()
}

fn no_such_key(key: &str, optional: &str) -> Failure {
    format!("no such key: {key}; say what counts instead, as in {optional}.orValue(…)").into()
}

/// A field that was looked for.
fn found(value: Option<Value>, field: &str, mode: Access) -> Result<Value, Failure> {
    match (mode, value) {
        (Access::Test, value) => Ok(Value::Bool(value.is_some())),
        (Access::Optional, value) => Ok(Value::Optional(value.map(Rc::new))),
        (Access::Get, Some(value)) => Ok(value),
        (Access::Get, None) => Err(no_such_key(field, &format!(".?{field}"))),
    }
}

/// A field of a map. What follows an optional value is optional, too.
fn select_of(operand: &Value, field: &str, mode: Access) -> Result<Value, Failure> {
    let map: &Map = match operand {
        Value::Map(map) => map,
        Value::Optional(None) => return found(None, field, optional(mode)),
        Value::Optional(Some(value)) => return select_of(value, field, optional(mode)),
        Value::Null => {
            let help = "say what counts then, as in oldObject == null || oldObject.spec.hostNetwork";
            return Err(format!("null has no fields: .{field} was asked for; {help}").into());
        }
        other => return Err(format!("a {} has no fields: .{field} was asked for", other.type_name()).into()),
    };
    found(map.field(field).cloned(), field, mode)
}

fn optional(mode: Access) -> Access {
    if mode == Access::Test { mode } else { Access::Optional }
}

fn index_of(operand: &Value, index: &Value, is_optional: bool, budget: &Budget) -> Result<Value, Failure> {
    let value = match operand {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(value)) => return index_of(value, index, true, budget),
        Value::Map(map) => {
            ops::count_lookup(map, index, budget)?;
            Key::of(index).and_then(|key| map.get(&key).cloned())
        }
        Value::List(list) => {
            let Some(Key::Int(at)) = Key::of(index) else {
                return Err(ops::no_overload("[]", &[operand, index]));
            };
            let value = usize::try_from(at).ok().and_then(|at| list.get(at).cloned());
            if value.is_none() && !is_optional {
                let (size, help) = (list.len(), "say what counts instead, as in [?");
                return Err(
                    format!("index out of bounds: {at} in a list of {size}; {help}{at}].orValue(…)").into()
                );
            }
            value
        }
        other => return Err(ops::no_overload("[]", &[other, index])),
    };
    match (is_optional, value) {
        (true, value) => Ok(Value::Optional(value.map(Rc::new))),
        (false, Some(value)) => Ok(value),
        (false, None) => {
            let key = ops::shown(index);
            Err(no_such_key(&key, &format!("[?{key}]")))
        }
    }
}
