//! Values as texts: what `string()` makes of them, and what `format` does.

use crate::budget::{Budget, Exhausted};
use crate::error::Failure;
use crate::ops;
use crate::value::{Key, Value};

/// Digits behind the point, if a format says nothing.
const PRECISION: usize = 6;

/// The most digits behind the point.
const PRECISION_MAX: usize = 100;

/// The text that `string()` makes of a value; none for one that it makes none of.
pub(crate) fn string(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(is_true) => is_true.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => double(*number),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.to_owned(),
        Value::Type(name) => (*name).to_owned(),
        Value::Duration(nanos) => duration(*nanos),
        Value::Timestamp(moment) => moment.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(network) => format!("{}/{}", network.address, network.bits),
        Value::List(_)
        | Value::Map(_)
        | Value::Optional(_)
        | Value::Quantity(_)
        | Value::Url(_)
        | Value::Format(_) => {
            return None;
        }
    })
}

/// A number with a point as Go writes it: its shortest digits, with an exponent if it is very small or large.
pub(crate) fn double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A span of time in seconds, as CEL writes it.
pub(crate) fn duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let fraction = format!("{:09}", nanos % 1_000_000_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}s", nanos / 1_000_000_000)
}

/// Fills the clauses of a pattern (`%s`, `%d`, `%.2f`, …) with the arguments.
pub(crate) fn format(pattern: &str, args: &[Value], budget: &Budget) -> Result<String, Failure> {
    let mut made = String::new();
    let mut args = args.iter().enumerate();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        made.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            made.push('%');
            rest = after;
            continue;
        }
        let (precision, after) = precision(rest)?;
        let Some(clause) = after.chars().next() else { return Err("a format ends with %".into()) };
        rest = &after[clause.len_utf8()..];
        let (index, arg) = args.next().ok_or_else(|| {
            Failure::from(format!(
                "index {} out of range: a format has more clauses than arguments",
                args.len()
            ))
        })?;
        let filled = clause_of(clause, precision, arg, budget).map_err(|failure| {
            if failure.is_limit { failure } else { format!("argument {index} of a format: {failure}").into() }
        })?;
        budget.make(filled.len())?;
        made.push_str(&filled);
    }
    made.push_str(rest);
    Ok(made)
}

fn precision(text: &str) -> Result<(usize, &str), Failure> {
    let Some(rest) = text.strip_prefix('.') else { return Ok((PRECISION, text)) };
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    match rest[..end].parse() {
        Ok(precision @ 0..=PRECISION_MAX) => Ok((precision, &rest[end..])),
        _ => Err(format!("the precision of a format is a number up to {PRECISION_MAX}").into()),
    }
}

fn clause_of(clause: char, precision: usize, arg: &Value, budget: &Budget) -> Result<String, Failure> {
    let unfit = |takes: &str| Err(format!("%{clause} takes {takes}, not {}", arg.type_name()).into());
    match (clause, arg) {
        ('s', _) => plain(arg, budget),
        ('d', Value::Int(number)) => Ok(number.to_string()),
        ('d', Value::UInt(number)) => Ok(number.to_string()),
        ('d', _) => unfit("an int"),
        ('f', _) => float(arg, |number| grouped(&format!("{number:.precision$}")))
            .map_or_else(|| unfit("a double"), Ok),
        ('e', _) => float(arg, |number| scientific(number, precision)).map_or_else(|| unfit("a double"), Ok),
        ('b', Value::Int(number)) => Ok(signed(*number, |number| format!("{number:b}"))),
        ('b', Value::UInt(number)) => Ok(format!("{number:b}")),
        ('b', Value::Bool(is_true)) => Ok(u8::from(*is_true).to_string()),
        ('b', _) => unfit("an int or a bool"),
        ('o', Value::Int(number)) => Ok(signed(*number, |number| format!("{number:o}"))),
        ('o', Value::UInt(number)) => Ok(format!("{number:o}")),
        ('o', _) => unfit("an int"),
        ('x' | 'X', _) => match hexadecimal(arg) {
            Some(text) if clause == 'X' => Ok(text.to_ascii_uppercase()),
            Some(text) => Ok(text),
            None => unfit("an int, a string or bytes"),
        },
        _ => Err(format!("%{clause} is no clause of a format").into()),
    }
}

/// What `%s` makes of a value: lists and maps are written out.
fn plain(value: &Value, budget: &Budget) -> Result<String, Failure> {
    match value {
        Value::List(_) | Value::Map(_) => {
            let mut made = String::new();
            write_out(value, &mut made, budget)?;
            Ok(made)
        }
        Value::Ip(_) | Value::Cidr(_) => Err(ops::no_overload("%s", &[value])),
        _ => string(value).ok_or_else(|| ops::no_overload("%s", &[value])),
    }
}

fn write_out(value: &Value, made: &mut String, budget: &Budget) -> Result<(), Failure> {
    budget.spend(1)?;
    budget.enter()?;
    let written = write_parts(value, made, budget);
    // Also after an error, which may be absorbed.
    budget.leave();
    written
}

fn write_parts(value: &Value, made: &mut String, budget: &Budget) -> Result<(), Failure> {
    let before = made.len();
    match value {
        Value::List(list) => {
            made.push('[');
            for (index, element) in list.iter().enumerate() {
                made.push_str(if index == 0 { "" } else { ", " });
                write_out(element, made, budget)?;
            }
            made.push(']');
        }
        Value::Map(map) => {
            made.push('{');
            for (index, (key, value)) in map.entries().iter().enumerate() {
                made.push_str(if index == 0 { "" } else { ", " });
                match key {
                    Key::String(key) => made.push_str(&format!("{key:?}")),
                    other => made.push_str(&string(&other.value()).unwrap_or_default()),
                }
                made.push(':');
                write_out(value, made, budget)?;
            }
            made.push('}');
        }
        Value::String(text) => made.push_str(&format!("{text:?}")),
        Value::Bytes(bytes) => made.push_str(&format!("b\"{}\"", bytes.escape_ascii())),
        Value::Double(number) => made.push_str(&format!("{number:.PRECISION$}")),
        Value::Duration(nanos) => made.push_str(&format!("duration({:?})", duration(*nanos))),
        Value::Timestamp(moment) => made.push_str(&format!("timestamp(\"{moment}\")")),
        other => made.push_str(&string(other).ok_or_else(|| ops::no_overload("%s", &[other]))?),
    }
    // What is in lists has been counted when it was written.
    if !matches!(value, Value::List(_) | Value::Map(_)) {
        budget.make(made.len() - before).map_err(|exhausted: Exhausted| Failure::from(exhausted))?;
    }
    Ok(())
}

fn signed(number: i64, write: impl Fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", write(number.unsigned_abs()))
}

fn hexadecimal(value: &Value) -> Option<String> {
    let of_bytes = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match value {
        Value::Int(number) => Some(signed(*number, |number| format!("{number:x}"))),
        Value::UInt(number) => Some(format!("{number:x}")),
        Value::String(text) => Some(of_bytes(text.as_bytes())),
        Value::Bytes(bytes) => Some(of_bytes(bytes)),
        _ => None,
    }
}

/// Writes a number with a point; `Infinity`, `-Infinity` and `NaN` may be texts.
fn float(value: &Value, write: impl Fn(f64) -> String) -> Option<String> {
    let number = match value {
        Value::Double(number) => *number,
        Value::String(text) => match &**text {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return None,
        },
        _ => return None,
    };
    Some(match number {
        number if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "∞".to_owned(),
        f64::NEG_INFINITY => "-∞".to_owned(),
        number => write(number),
    })
}

/// `1234567.5` as `1,234,567.5`, in English as upstream has it.
fn grouped(number: &str) -> String {
    let (sign, unsigned) = number.strip_prefix('-').map_or(("", number), |unsigned| ("-", unsigned));
    let (whole, fraction) = unsigned.find('.').map_or((unsigned, ""), |at| unsigned.split_at(at));
    let mut made = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            made.push(',');
        }
        made.push(digit);
    }
    made.push_str(fraction);
    made
}

/// `2.718280 × 10⁰⁰` with narrow spaces, as upstream has it.
fn scientific(number: f64, precision: usize) -> String {
    let written = format!("{number:.precision$e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
    let digit =
        |digit: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10).unwrap_or(0) as usize).unwrap_or('⁰');
    let exponent: String = format!("{exponent:0>2}").chars().map(digit).collect();
    format!("{digits}\u{202f}×\u{202f}10{sign}{exponent}")
}
