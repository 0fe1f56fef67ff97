//! Amounts, as Kubernetes' library has them.

use std::cmp::Ordering;
use std::rc::Rc;

use super::call::{Call, Function, Outcome};
use crate::quantity::Quantity;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "quantity", run: quantity, signatures: &["(string) quantity"] },
    Function { name: "isQuantity", run: is_quantity, signatures: &["(string) bool"] },
    Function { name: "sign", run: of_one, signatures: &["(quantity) int", "quantity.() int"] },
    Function { name: "isInteger", run: of_one, signatures: &["quantity.() bool"] },
    Function { name: "asInteger", run: of_one, signatures: &["quantity.() int"] },
    Function { name: "asApproximateFloat", run: of_one, signatures: &["quantity.() double"] },
    Function { name: "isGreaterThan", run: of_two, signatures: &["quantity.(quantity) bool"] },
    Function { name: "isLessThan", run: of_two, signatures: &["quantity.(quantity) bool"] },
    Function { name: "compareTo", run: of_two, signatures: &["quantity.(quantity) int"] },
    Function {
        name: "add",
        run: of_two,
        signatures: &["quantity.(quantity) quantity", "quantity.(int) quantity"],
    },
    Function {
        name: "sub",
        run: of_two,
        signatures: &["quantity.(quantity) quantity", "quantity.(int) quantity"],
    },
];

fn quantity(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    match Quantity::parse(text) {
        Some(quantity) => Ok(Value::Quantity(Rc::new(quantity))),
        None => {
            let shown: String = text.chars().take(40).collect();
            Err(format!("{shown:?} is no quantity").into())
        }
    }
}

fn is_quantity(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    Ok(Value::Bool(Quantity::parse(text).is_some()))
}

fn of_one(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::Quantity(quantity)] = call.args else { return call.unfit() };
    let whole = quantity.as_integer();
    match call.name {
        "sign" => Ok(Value::Int(quantity.sign())),
        "isInteger" => Ok(Value::Bool(whole.is_some())),
        "asInteger" => whole.map(Value::Int).ok_or_else(|| "cannot convert value to integer".into()),
        _ => Ok(Value::Double(quantity.as_float())),
    }
}

fn of_two(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let (one, other) = match call.args {
        [Value::Quantity(one), Value::Quantity(other)] => (**one, **other),
        [Value::Quantity(one), Value::Int(other)] if matches!(call.name, "add" | "sub") => {
            (**one, Quantity::of(*other))
        }
        _ => return call.unfit(),
    };
    let order = one.compare(other);
    Ok(match call.name {
        "isGreaterThan" => Value::Bool(order == Ordering::Greater),
        "isLessThan" => Value::Bool(order == Ordering::Less),
        "compareTo" => Value::Int(order as i64),
        "add" => Value::Quantity(Rc::new(one.add(other))),
        _ => Value::Quantity(Rc::new(one.sub(other))),
    })
}
