//! Sizes, and conversions between types.

use super::call::{Call, Function, Outcome};
use super::times;
use crate::text;
use crate::value::Value;

/// The first numbers beyond `int` and `uint`, which are exact with a point.
const INT_BOUND: f64 = (1_u64 << 63) as f64;
const UINT_BOUND: f64 = (1_u128 << 64) as f64;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "size",
        run: size,
        signatures: &[
            "(string) int",
            "(bytes) int",
            "(list(A)) int",
            "(map(A,B)) int",
            "string.() int",
            "bytes.() int",
            "list(A).() int",
            "map(A,B).() int",
        ],
    },
    Function { name: "type", run: type_of, signatures: &["(A) type"] },
    Function { name: "dyn", run: itself, signatures: &["(A) dyn"] },
    Function { name: "bool", run: to_bool, signatures: &["(bool) bool", "(string) bool"] },
    Function {
        name: "int",
        run: to_int,
        signatures: &[
            "(int) int",
            "(uint) int",
            "(double) int",
            "(string) int",
            "(timestamp) int",
            "(duration) int",
        ],
    },
    Function {
        name: "uint",
        run: to_uint,
        signatures: &["(uint) uint", "(int) uint", "(double) uint", "(string) uint"],
    },
    Function {
        name: "double",
        run: to_double,
        signatures: &["(double) double", "(int) double", "(uint) double", "(string) double"],
    },
    Function {
        name: "string",
        run: to_string,
        signatures: &[
            "(string) string",
            "(bool) string",
            "(int) string",
            "(uint) string",
            "(double) string",
            "(bytes) string",
            "(timestamp) string",
            "(duration) string",
            "(ip) string",
            "(cidr) string",
        ],
    },
    Function { name: "bytes", run: to_bytes, signatures: &["(bytes) bytes", "(string) bytes"] },
    Function {
        name: "duration",
        run: times::duration,
        signatures: &["(duration) duration", "(string) duration"],
    },
    Function {
        name: "timestamp",
        run: times::timestamp,
        signatures: &["(timestamp) timestamp", "(string) timestamp", "(int) timestamp"],
    },
];

fn size(call: &Call<'_>) -> Outcome {
    let size = match call.args {
        [Value::String(text)] => {
            call.budget.read(text.len())?;
            text.chars().count()
        }
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(list)] => list.len(),
        [Value::Map(map)] => map.entries().len(),
        _ => return call.unfit(),
    };
    Ok(Value::Int(size as i64))
}

fn type_of(call: &Call<'_>) -> Outcome {
    match call.args {
        [value] => Ok(Value::Type(value.type_name())),
        _ => call.unfit(),
    }
}

fn itself(call: &Call<'_>) -> Outcome {
    match call.args {
        [value] => Ok(value.clone()),
        _ => call.unfit(),
    }
}

fn to_bool(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::Bool(is_true)] => Ok(Value::Bool(*is_true)),
        [Value::String(text)] => match &**text {
            "true" | "TRUE" | "True" | "t" | "T" | "1" => Ok(Value::Bool(true)),
            "false" | "FALSE" | "False" | "f" | "F" | "0" => Ok(Value::Bool(false)),
            _ => Err(unconverted(call, text)),
        },
        _ => call.unfit(),
    }
}

fn unconverted(call: &Call<'_>, text: &str) -> crate::error::Failure {
    let shown: String = text.chars().take(40).collect();
    let help = match call.name {
        "int" | "uint" => "; whole numbers are written like 7",
        "double" => "; numbers are written like 7, 1.5 or 2e3",
        "bool" => "; it is written true or false",
        _ => "",
    };
    format!("{shown:?} is no {}{help}", call.name).into()
}

fn out_of_range(call: &Call<'_>) -> Outcome {
    Err(format!("the number is out of the range of {}", call.name).into())
}

fn to_int(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::Int(number)] => Ok(Value::Int(*number)),
        [Value::UInt(number)] => {
            i64::try_from(*number).map_or_else(|_| out_of_range(call), |number| Ok(Value::Int(number)))
        }
        // Both bounds themselves are out of range: they can't be distinguished from what lies beyond.
        [Value::Double(number)] if *number > -INT_BOUND && *number < INT_BOUND => {
            Ok(Value::Int(*number as i64))
        }
        [Value::Double(_)] => out_of_range(call),
        [Value::String(text)] => text.parse().map(Value::Int).map_err(|_| unconverted(call, text)),
        [Value::Timestamp(moment)] => Ok(Value::Int(moment.as_second())),
        // In nanoseconds.
        [Value::Duration(nanos)] => Ok(Value::Int(*nanos)),
        _ => call.unfit(),
    }
}

fn to_uint(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::UInt(number)] => Ok(Value::UInt(*number)),
        [Value::Int(number)] => {
            u64::try_from(*number).map_or_else(|_| out_of_range(call), |number| Ok(Value::UInt(number)))
        }
        [Value::Double(number)] if *number >= 0.0 && *number < UINT_BOUND => Ok(Value::UInt(*number as u64)),
        [Value::Double(_)] => out_of_range(call),
        // Go takes no sign here.
        [Value::String(text)] if text.starts_with('+') => Err(unconverted(call, text)),
        [Value::String(text)] => text.parse().map(Value::UInt).map_err(|_| unconverted(call, text)),
        _ => call.unfit(),
    }
}

fn to_double(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::Double(number)] => Ok(Value::Double(*number)),
        [Value::Int(number)] => Ok(Value::Double(*number as f64)),
        [Value::UInt(number)] => Ok(Value::Double(*number as f64)),
        // Too large a number is none; infinity has to be named.
        [Value::String(text)] => match text.parse::<f64>() {
            Ok(number) if number.is_infinite() && text.bytes().any(|digit| digit.is_ascii_digit()) => {
                out_of_range(call)
            }
            Ok(number) => Ok(Value::Double(number)),
            Err(_) => Err(unconverted(call, text)),
        },
        _ => call.unfit(),
    }
}

fn to_string(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::Null | Value::Type(_)] => call.unfit(),
        [Value::String(_)] => itself(call),
        [Value::Bytes(_)] => match text::string(&call.args[0]) {
            Some(text) => call.text(text),
            None => Err("bytes that aren't UTF-8 are no string".into()),
        },
        [value] => match text::string(value) {
            Some(text) => call.text(text),
            None => call.unfit(),
        },
        _ => call.unfit(),
    }
}

fn to_bytes(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::Bytes(_)] => itself(call),
        [Value::String(text)] => {
            call.budget.make(text.len())?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        _ => call.unfit(),
    }
}
