//! Lists: Kubernetes' own functions, the extension `lists` in version 3, and sets.

use super::call::{Call, Function, Outcome};
use crate::ast::BinaryOp;
use crate::budget::{Budget, Exhausted};
use crate::ops;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "isSorted", run: is_sorted, signatures: &["list(A).() bool"] },
    Function { name: "sum", run: sum, signatures: &["list(A).() A"] },
    Function { name: "min", run: extreme, signatures: &["list(A).() A"] },
    Function { name: "max", run: extreme, signatures: &["list(A).() A"] },
    Function { name: "distinct", run: distinct, signatures: &["list(A).() list(A)"] },
    Function {
        name: "flatten",
        run: flatten,
        signatures: &["list(A).() list(dyn)", "list(A).(int) list(dyn)"],
    },
    Function { name: "slice", run: slice, signatures: &["list(A).(int,int) list(A)"] },
    Function { name: "sort", run: sort, signatures: &["list(A).() list(A)"] },
    Function { name: "reverse", run: reverse, signatures: &["list(A).() list(A)"] },
    Function { name: "lists.range", run: range, signatures: &["(int) list(int)"] },
    Function { name: "sets.contains", run: sets, signatures: &["(list(A),list(A)) bool"] },
    Function { name: "sets.equivalent", run: sets, signatures: &["(list(A),list(A)) bool"] },
    Function { name: "sets.intersects", run: sets, signatures: &["(list(A),list(A)) bool"] },
];

fn is_sorted(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    for pair in list.windows(2) {
        call.budget.spend(1)?;
        // As upstream has it, NaN may stand anywhere.
        if ops::is_not_a_number(&pair[0], &pair[1]) {
            continue;
        }
        if ops::binary(BinaryOp::LessEqual, &pair[0], &pair[1], call.budget)?
            .equals(&Value::Bool(false), call.budget)?
        {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    let Some(mut sum) = list.first().cloned() else { return Ok(Value::Int(0)) };
    let is_summand = |value: &&Value| {
        matches!(value, Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Duration(_))
    };
    if let Some(other) = list.iter().find(|value| !is_summand(value)) {
        return Err(format!("sum() adds numbers and durations, not {}", other.type_name()).into());
    }
    for summand in list.iter().skip(1) {
        call.budget.spend(1)?;
        sum = ops::binary(BinaryOp::Add, &sum, summand, call.budget)?;
    }
    Ok(sum)
}

fn extreme(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    let Some(mut best) = list.first() else {
        return Err(format!("{} called on empty list", call.name).into());
    };
    let better = if call.name == "min" { BinaryOp::Less } else { BinaryOp::Greater };
    for element in list.iter() {
        call.budget.spend(1)?;
        // As upstream has it, NaN is no better than what was there before, and nothing is better than it.
        if ops::is_not_a_number(element, best) {
            continue;
        }
        if let Value::Bool(true) = ops::binary(better, element, best, call.budget)? {
            best = element;
        }
    }
    Ok(best.clone())
}

/// Whether an element is in a list.
fn has(list: &[Value], element: &Value, budget: &Budget) -> Result<bool, Exhausted> {
    for other in list {
        budget.spend(1)?;
        if other.equals(element, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn distinct(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    let mut kept: Vec<Value> = Vec::new();
    for element in list.iter() {
        if !has(&kept, element, call.budget)? {
            kept.push(element.clone());
        }
    }
    call.list(kept)
}

fn flatten(call: &Call<'_>) -> Outcome {
    let (list, depth) = match call.args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return call.unfit(),
    };
    if depth < 0 {
        return Err("level must be non-negative".into());
    }
    let mut flat = Vec::new();
    spread(list, depth, &mut flat, call.budget)?;
    call.list(flat)
}

fn spread(list: &[Value], depth: i64, flat: &mut Vec<Value>, budget: &Budget) -> Result<(), Exhausted> {
    budget.enter()?;
    for element in list {
        budget.spend(1)?;
        match element {
            Value::List(inner) if depth > 0 => spread(inner, depth - 1, flat, budget)?,
            other => {
                budget.make(size_of::<Value>())?;
                flat.push(other.clone());
            }
        }
    }
    budget.leave();
    Ok(())
}

fn slice(call: &Call<'_>) -> Outcome {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = call.args else { return call.unfit() };
    let part = match (usize::try_from(*start), usize::try_from(*end)) {
        (Ok(start), Ok(end)) if start <= end => list.get(start..end),
        _ => None,
    };
    match part {
        Some(part) => call.list(part.to_vec()),
        None => Err(format!("cannot slice({start}, {end}) of a list of {}", list.len()).into()),
    }
}

fn sort(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    let order = ops::order_of(list, call.budget)?;
    call.list(order.into_iter().filter_map(|index| list.get(index).cloned()).collect())
}

fn reverse(call: &Call<'_>) -> Outcome {
    let [Value::List(list)] = call.args else { return call.unfit() };
    call.list(list.iter().rev().cloned().collect())
}

fn range(call: &Call<'_>) -> Outcome {
    let [Value::Int(end)] = call.args else { return call.unfit() };
    let end = (*end).max(0);
    // Counted before it is made.
    call.budget.spend(end.unsigned_abs())?;
    call.list((0..end).map(Value::Int).collect())
}

fn sets(call: &Call<'_>) -> Outcome {
    let [Value::List(one), Value::List(other)] = call.args else { return call.unfit() };
    let contains = |list: &[Value], others: &[Value]| -> Result<bool, Exhausted> {
        for element in others {
            if !has(list, element, call.budget)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    Ok(Value::Bool(match call.name {
        "sets.contains" => contains(one, other)?,
        "sets.equivalent" => contains(one, other)? && contains(other, one)?,
        _ => {
            for element in one.iter() {
                if has(other, element, call.budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            false
        }
    }))
}
