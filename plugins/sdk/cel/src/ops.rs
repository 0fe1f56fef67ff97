//! Operators.

use std::cmp::Ordering;

use crate::ast::BinaryOp;
use crate::budget::{Budget, Exhausted};
use crate::error::Failure;
use crate::text;
use crate::value::{Key, Map, Value, is_in_range};

/// The longest value that a message shows.
const SHOWN_CHARS_MAX: usize = 80;

/// Says that an operator or a function isn't there for values of these types.
pub(crate) fn no_overload(name: &str, args: &[&Value]) -> Failure {
    let types: Vec<&str> = args.iter().map(|arg| arg.type_name()).collect();
    format!("no such overload: {name} of {}; what a value is says type(…)", types.join(", ")).into()
}

/// A value in a message.
pub(crate) fn shown(value: &Value) -> String {
    let shown = match value {
        Value::String(text) => format!("{:?}", text.chars().take(SHOWN_CHARS_MAX).collect::<String>()),
        Value::List(_) | Value::Map(_) => value.type_name().to_owned(),
        other => text::string(other).unwrap_or_else(|| other.type_name().to_owned()),
    };
    match shown.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

pub(crate) fn negate(operand: &Value) -> Result<Value, Failure> {
    match operand {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Duration(nanos) => nanos.checked_neg().map(Value::Duration).ok_or_else(overflow),
        other => Err(no_overload("-", &[other])),
    }
}

pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value, budget: &Budget) -> Result<Value, Failure> {
    match op {
        BinaryOp::Equal => Ok(Value::Bool(left.equals(right, budget)?)),
        BinaryOp::NotEqual => Ok(Value::Bool(!left.equals(right, budget)?)),
        BinaryOp::In => is_in(left, right, budget),
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
            budget.read(left.bytes().min(right.bytes()))?;
            compare(op, left, right)
        }
        BinaryOp::Add => add(left, right, budget),
        _ => arithmetic(op, left, right),
    }
}

fn compare(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, Failure> {
    let Some(order) = left.order(right) else {
        return Err(if is_not_a_number(left, right) {
            "NaN values cannot be ordered".into()
        } else {
            no_overload(op.sign(), &[left, right])
        });
    };
    Ok(Value::Bool(match op {
        BinaryOp::Less => order == Ordering::Less,
        BinaryOp::LessEqual => order != Ordering::Greater,
        BinaryOp::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

/// Whether two numbers have no order because one of them is NaN.
pub(crate) fn is_not_a_number(left: &Value, right: &Value) -> bool {
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Double(_));
    is_number(left) && is_number(right) && left.order(right).is_none()
}

fn is_in(element: &Value, container: &Value, budget: &Budget) -> Result<Value, Failure> {
    match container {
        Value::List(list) => {
            for other in list.iter() {
                budget.spend(1)?;
                if element.equals(other, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => {
            count_lookup(map, element, budget)?;
            Ok(Value::Bool(Key::of(element).is_some_and(|key| map.get(&key).is_some())))
        }
        other => Err(no_overload("in", &[element, other])),
    }
}

/// Counts a look for a key, which is compared with some of the map's.
pub(crate) fn count_lookup(map: &Map, key: &Value, budget: &Budget) -> Result<(), Exhausted> {
    let compared = usize::BITS - map.entries().len().leading_zeros();
    spend_many(budget, u64::from(compared), key.bytes())
}

fn overflow() -> Failure {
    "the result is too large for its type".into()
}

fn add(left: &Value, right: &Value, budget: &Budget) -> Result<Value, Failure> {
    match (left, right) {
        (Value::String(one), Value::String(other)) => {
            budget.make(one.len() + other.len())?;
            Ok(Value::text(format!("{one}{other}")))
        }
        (Value::Bytes(one), Value::Bytes(other)) => {
            budget.make(one.len() + other.len())?;
            Ok(Value::Bytes([&**one, &**other].concat().into()))
        }
        (Value::List(one), Value::List(other)) => {
            let length = one.len() + other.len();
            budget.spend(length as u64)?;
            budget.make(length * size_of::<Value>())?;
            Ok(Value::list(one.iter().chain(other.iter()).cloned().collect()))
        }
        _ => arithmetic(BinaryOp::Add, left, right),
    }
}

fn arithmetic(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, Failure> {
    let by_zero = || {
        let what = if op == BinaryOp::Modulo { "modulus" } else { "division" };
        Failure::from(format!("{what} by zero; say what counts then, as in x == 0 ? 0 : 7 / x"))
    };
    let is_division = matches!(op, BinaryOp::Divide | BinaryOp::Modulo);
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) if is_division => Err(by_zero()),
        (Value::Int(one), Value::Int(other)) => {
            let result = match op {
                BinaryOp::Add => one.checked_add(*other),
                BinaryOp::Subtract => one.checked_sub(*other),
                BinaryOp::Multiply => one.checked_mul(*other),
                BinaryOp::Divide => one.checked_div(*other),
                _ => one.checked_rem(*other),
            };
            result.map(Value::Int).ok_or_else(overflow)
        }
        (Value::UInt(one), Value::UInt(other)) => {
            let result = match op {
                BinaryOp::Add => one.checked_add(*other),
                BinaryOp::Subtract => one.checked_sub(*other),
                BinaryOp::Multiply => one.checked_mul(*other),
                BinaryOp::Divide => one.checked_div(*other),
                _ => one.checked_rem(*other),
            };
            result.map(Value::UInt).ok_or_else(overflow)
        }
        (Value::Double(one), Value::Double(other)) if op != BinaryOp::Modulo => Ok(Value::Double(match op {
            BinaryOp::Add => one + other,
            BinaryOp::Subtract => one - other,
            BinaryOp::Multiply => one * other,
            _ => one / other,
        })),
        _ => of_times(op, left, right),
    }
}

fn of_times(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, Failure> {
    let moved = |moment: &jiff::Timestamp, nanos: Option<i64>| {
        let nanos = nanos.map(jiff::SignedDuration::from_nanos);
        let moved = nanos.and_then(|nanos| moment.checked_add(nanos).ok());
        moved.filter(is_in_range).map(Value::Timestamp).ok_or_else(overflow)
    };
    match (op, left, right) {
        (BinaryOp::Add, Value::Duration(one), Value::Duration(other)) => {
            one.checked_add(*other).map(Value::Duration).ok_or_else(overflow)
        }
        (BinaryOp::Subtract, Value::Duration(one), Value::Duration(other)) => {
            one.checked_sub(*other).map(Value::Duration).ok_or_else(overflow)
        }
        (BinaryOp::Add, Value::Timestamp(moment), Value::Duration(nanos))
        | (BinaryOp::Add, Value::Duration(nanos), Value::Timestamp(moment)) => moved(moment, Some(*nanos)),
        (BinaryOp::Subtract, Value::Timestamp(moment), Value::Duration(nanos)) => {
            moved(moment, nanos.checked_neg())
        }
        (BinaryOp::Subtract, Value::Timestamp(one), Value::Timestamp(other)) => {
            let nanos = one.as_nanosecond() - other.as_nanosecond();
            i64::try_from(nanos).map(Value::Duration).map_err(|_| overflow())
        }
        _ => Err(no_overload(op.sign(), &[left, right])),
    }
}

/// About how many comparisons sorting takes.
pub(crate) fn sorting_steps(length: usize) -> u64 {
    length as u64 * u64::from(usize::BITS - length.leading_zeros())
}

/// The places of the keys in their order.
pub(crate) fn order_of(keys: &[Value], budget: &Budget) -> Result<Vec<usize>, Failure> {
    let mut longest = 0;
    if let Some(first) = keys.first() {
        for key in keys {
            longest = longest.max(key.bytes());
            if key.type_name() != first.type_name() {
                return Err("the elements of a list that is sorted must have the same type".into());
            }
            let is_number = matches!(key, Value::Double(_));
            if !is_number && key.order(key).is_none() {
                return Err(format!("a list of {} can't be sorted", key.type_name()).into());
            }
        }
    }
    spend_many(budget, sorting_steps(keys.len()), longest)?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    // NaN has a place, too: sorting wants each to be before or after each other.
    order.sort_by(|one, other| match (&keys[*one], &keys[*other]) {
        (Value::Double(one), Value::Double(other)) => one.total_cmp(other),
        (one, other) => one.order(other).unwrap_or(Ordering::Equal),
    });
    Ok(order)
}

/// Counts so many steps that each read so many bytes.
pub(crate) fn spend_many(budget: &Budget, steps: u64, bytes: usize) -> Result<(), Exhausted> {
    budget.spend(steps.saturating_mul(1 + bytes as u64 / 64))
}
