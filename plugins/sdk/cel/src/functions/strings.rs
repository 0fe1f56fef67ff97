//! Texts: CEL's own functions, and those of the extension `strings` in version 2.

use super::call::{Call, Function, Outcome};
use crate::error::Failure;
use crate::ops;
use crate::text;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "contains", run: contains, signatures: &["string.(string) bool"] },
    Function { name: "startsWith", run: contains, signatures: &["string.(string) bool"] },
    Function { name: "endsWith", run: contains, signatures: &["string.(string) bool"] },
    Function { name: "charAt", run: char_at, signatures: &["string.(int) string"] },
    Function {
        name: "indexOf",
        run: index_of,
        signatures: &["string.(string) int", "string.(string,int) int", "list(A).(A) int"],
    },
    Function {
        name: "lastIndexOf",
        run: last_index_of,
        signatures: &["string.(string) int", "string.(string,int) int", "list(A).(A) int"],
    },
    Function { name: "lowerAscii", run: letters, signatures: &["string.() string"] },
    Function { name: "upperAscii", run: letters, signatures: &["string.() string"] },
    Function { name: "trim", run: letters, signatures: &["string.() string"] },
    Function {
        name: "replace",
        run: replace,
        signatures: &["string.(string,string) string", "string.(string,string,int) string"],
    },
    Function {
        name: "split",
        run: split,
        signatures: &["string.(string) list(string)", "string.(string,int) list(string)"],
    },
    Function {
        name: "substring",
        run: substring,
        signatures: &["string.(int) string", "string.(int,int) string"],
    },
    Function {
        name: "join",
        run: join,
        signatures: &["list(string).() string", "list(string).(string) string"],
    },
    Function { name: "format", run: format, signatures: &["string.(list(A)) string"] },
    Function { name: "strings.quote", run: quote, signatures: &["(string) string"] },
];

fn contains(call: &Call<'_>) -> Outcome {
    let [Value::String(text), Value::String(part)] = call.args else { return call.unfit() };
    call.budget.read(text.len() + part.len())?;
    Ok(Value::Bool(match call.name {
        "contains" => text.contains(&**part),
        "startsWith" => text.starts_with(&**part),
        _ => text.ends_with(&**part),
    }))
}

fn out_of_range(index: i64) -> Failure {
    format!("index out of range: {index}; how many characters there are says size(…)").into()
}

/// Where a character begins; the number of characters is the end.
fn byte_at(text: &str, index: i64) -> Result<usize, Failure> {
    let expected = usize::try_from(index).map_err(|_| out_of_range(index))?;
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(expected).ok_or_else(|| out_of_range(index))
}

fn char_at(call: &Call<'_>) -> Outcome {
    let [Value::String(text), Value::Int(index)] = call.args else { return call.unfit() };
    call.budget.read(text.len())?;
    let at = byte_at(text, *index)?;
    call.text(text[at..].chars().take(1).collect())
}

/// Characters up to an offset in bytes.
fn characters(text: &str, bytes: usize) -> i64 {
    text[..bytes].chars().count() as i64
}

fn index_of(call: &Call<'_>) -> Outcome {
    let (text, part, from) = match call.args {
        [Value::List(list), element] => return position(call, list.iter().enumerate(), element),
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, *from),
        _ => return call.unfit(),
    };
    call.budget.read(text.len() + part.len())?;
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    if from < 0 {
        return Err(out_of_range(from));
    }
    let Ok(begin) = byte_at(text, from) else { return Ok(Value::Int(-1)) };
    let found = text[begin..].find(&**part);
    Ok(Value::Int(found.map_or(-1, |at| characters(text, begin + at))))
}

fn last_index_of(call: &Call<'_>) -> Outcome {
    let (text, part, to) = match call.args {
        [Value::List(list), element] => return position(call, list.iter().enumerate().rev(), element),
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(to)] => (text, part, Some(*to)),
        _ => return call.unfit(),
    };
    call.budget.read(text.len() + part.len())?;
    if part.is_empty() {
        return Ok(Value::Int(to.unwrap_or_else(|| characters(text, text.len()))));
    }
    let end = match to {
        None => text.len(),
        Some(to) if to < 0 => return Err(out_of_range(to)),
        Some(to) => match byte_at(text, to) {
            // Where the last match may begin; the end of the text is no place for one.
            // A match that begins there at the latest ends here at the latest.
            Ok(begin) if begin < text.len() => (begin + part.len()).min(text.len()),
            _ => return Ok(Value::Int(-1)),
        },
    };
    let end = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let found = text[..end].rfind(&**part);
    Ok(Value::Int(found.map_or(-1, |at| characters(text, at))))
}

fn position<'a>(
    call: &Call<'_>,
    elements: impl Iterator<Item = (usize, &'a Value)>,
    expected: &Value,
) -> Outcome {
    for (index, element) in elements {
        call.budget.spend(1)?;
        if element.equals(expected, call.budget)? {
            return Ok(Value::Int(index as i64));
        }
    }
    Ok(Value::Int(-1))
}

fn letters(call: &Call<'_>) -> Outcome {
    let [Value::String(text)] = call.args else { return call.unfit() };
    call.text(match call.name {
        "lowerAscii" => text.to_ascii_lowercase(),
        "upperAscii" => text.to_ascii_uppercase(),
        _ => text.trim().to_owned(),
    })
}

fn replace(call: &Call<'_>) -> Outcome {
    let (text, old, new, limit) = match call.args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => {
            (text, old, new, *limit)
        }
        _ => return call.unfit(),
    };
    call.budget.read(text.len() + old.len())?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // Counted before it is made: it may be much longer than what it is made of.
    let found = if old.is_empty() { text.chars().count() + 1 } else { text.matches(&**old).count() };
    call.budget.spend(found as u64)?;
    let grown = found.min(limit).saturating_mul(new.len());
    call.budget.make(text.len().saturating_add(grown))?;
    Ok(Value::text(text.replacen(&**old, new, limit)))
}

fn split(call: &Call<'_>) -> Outcome {
    let (text, separator, limit) = match call.args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return call.unfit(),
    };
    call.budget.read(text.len())?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if separator.is_empty() {
        // Each character is a part, the rest behind the limit the last one.
        let ends = text.char_indices().map(|(at, letter)| (at, at + letter.len_utf8())).take(limit);
        let parts = ends
            .enumerate()
            .map(|(index, (at, end))| &text[at..if index + 1 == limit { text.len() } else { end }]);
        return call.texts(parts);
    }
    call.texts(text.splitn(limit, &**separator))
}

fn substring(call: &Call<'_>) -> Outcome {
    let (text, start, end) = match call.args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return call.unfit(),
    };
    call.budget.read(text.len())?;
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(format!("invalid substring range. start: {start}, end: {end}").into());
    }
    let begin = byte_at(text, start)?;
    let end = end.map_or(Ok(text.len()), |end| byte_at(text, end))?;
    call.text(text[begin..end].to_owned())
}

fn join(call: &Call<'_>) -> Outcome {
    let (list, separator) = match call.args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return call.unfit(),
    };
    let mut joined = String::new();
    for (index, element) in list.iter().enumerate() {
        let Value::String(text) = element else {
            return Err(ops::no_overload("join()", &[&call.args[0], element]));
        };
        let separator = if index == 0 { "" } else { separator };
        call.budget.spend(1)?;
        call.budget.make(separator.len() + text.len())?;
        joined.push_str(separator);
        joined.push_str(text);
    }
    Ok(Value::text(joined))
}

fn format(call: &Call<'_>) -> Outcome {
    let [Value::String(pattern), Value::List(args)] = call.args else { return call.unfit() };
    call.budget.read(pattern.len())?;
    call.text(text::format(pattern, args, call.budget)?)
}

fn quote(call: &Call<'_>) -> Outcome {
    let [Value::String(text)] = call.args else { return call.unfit() };
    call.budget.make(text.len())?;
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    call.text(quoted)
}
