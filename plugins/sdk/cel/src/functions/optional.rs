//! Optional values.

use std::rc::Rc;

use super::call::{Call, Function, Outcome};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "optional.of", run: of, signatures: &["(A) optional(A)"] },
    Function { name: "optional.ofNonZeroValue", run: of_non_zero, signatures: &["(A) optional(A)"] },
    Function { name: "optional.none", run: none, signatures: &["() optional(dyn)"] },
    Function { name: "hasValue", run: has_value, signatures: &["optional(A).() bool"] },
    Function { name: "value", run: value, signatures: &["optional(A).() A"] },
    Function { name: "orValue", run: or_value, signatures: &["optional(A).(A) A"] },
    Function { name: "or", run: or, signatures: &["optional(A).(optional(A)) optional(A)"] },
    Function { name: "optional.unwrap", run: values, signatures: &["(list(optional(A))) list(A)"] },
    Function { name: "unwrapOpt", run: values, signatures: &["list(optional(A)).() list(A)"] },
    Function { name: "first", run: end, signatures: &["list(A).() optional(A)"] },
    Function { name: "last", run: end, signatures: &["list(A).() optional(A)"] },
];

fn of(call: &Call<'_>) -> Outcome {
    let [value] = call.args else { return call.unfit() };
    Ok(Value::some(value.clone()))
}

fn of_non_zero(call: &Call<'_>) -> Outcome {
    let [value] = call.args else { return call.unfit() };
    let is_zero = match value {
        Value::Null => true,
        Value::Bool(is_true) => !is_true,
        Value::Int(number) => *number == 0,
        Value::UInt(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.entries().is_empty(),
        Value::Duration(nanos) => *nanos == 0,
        Value::Optional(value) => value.is_none(),
        Value::Quantity(quantity) => quantity.sign() == 0,
        _ => false,
    };
    Ok(Value::Optional((!is_zero).then(|| Rc::new(value.clone()))))
}

fn none(call: &Call<'_>) -> Outcome {
    if call.args.is_empty() { Ok(Value::Optional(None)) } else { call.unfit() }
}

fn has_value(call: &Call<'_>) -> Outcome {
    let [Value::Optional(value)] = call.args else { return call.unfit() };
    Ok(Value::Bool(value.is_some()))
}

fn value(call: &Call<'_>) -> Outcome {
    let [Value::Optional(value)] = call.args else { return call.unfit() };
    value.as_ref().map(|value| (**value).clone()).ok_or_else(|| "optional.none() has no value".into())
}

fn or_value(call: &Call<'_>) -> Outcome {
    let [Value::Optional(value), other] = call.args else { return call.unfit() };
    Ok(value.as_ref().map_or_else(|| other.clone(), |value| (**value).clone()))
}

fn or(call: &Call<'_>) -> Outcome {
    let [one @ Value::Optional(value), other @ Value::Optional(_)] = call.args else { return call.unfit() };
    Ok(if value.is_some() { one.clone() } else { other.clone() })
}

/// The values of those that have one.
fn values(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    call.budget.spend(list.len() as u64)?;
    let mut values = Vec::new();
    for element in list.iter() {
        let Value::Optional(value) = element else {
            let found = element.type_name();
            return Err(format!("{}() takes optional values, not a {found} among them", call.name).into());
        };
        values.extend(value.as_ref().map(|value| (**value).clone()));
    }
    call.list(values)
}

/// The first or the last element of a list.
fn end(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    let element = if call.name == "first" { list.first() } else { list.last() };
    Ok(Value::Optional(element.cloned().map(Rc::new)))
}
