//! YAML that people write: faults with the field and its place, and where a field stands.

use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_path_to_error::{Path, Segment, Track};
use serde_saphyr::{Error, Location, Options, Spanned};

#[cfg(test)]
mod tests;

/// Characters of a value that a message shows.
const SHOWN_MAX: usize = 80;

/// Where something stands in a text, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Position {
    fn of(location: Location) -> Self {
        let in_text = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self { line: in_text(location.line()), column: in_text(location.column()) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Reads a document.
///
/// # Errors
///
/// A line with the place, the field and what was expected there.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    read_seed(text, std::marker::PhantomData)
}

/// The same by a seed.
///
/// # Errors
///
/// As [`read`].
pub fn read_seed<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Result<S::Value, String> {
    let mut track = Track::new();
    let read = serde_saphyr::with_deserializer_from_str(text, |deserializer| {
        seed.deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track))
    });
    read.map_err(|error| {
        let path = field_path(&track.path());
        let field = if path.is_empty() { path } else { format!("{path}: ") };
        let found = found(&error, text).map(|found| format!(", found {found}")).unwrap_or_default();
        let (place, words) = (place_words(&error), words(error.without_snippet()));
        format!("{place}{field}{words}{found}")
    })
}

/// Returns what is wrong, after its place and without the excerpt, which would take several lines.
pub(crate) fn fault(error: &Error) -> String {
    format!("{}{}", place_words(error), words(error.without_snippet()))
}

fn place_words(error: &Error) -> String {
    error.location().map(|place| format!("{}: ", Position::of(place))).unwrap_or_default()
}

/// The parser's words, except where they speak to programmers.
pub(crate) fn words(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key {key:?} in a mapping"),
        Error::DuplicateMappingKey { key: None, .. } => "duplicate key in a mapping".to_owned(),
        Error::NullIntoString { .. } => "expected a string, found null".to_owned(),
        Error::Unexpected { expected, .. } => format!("expected {}", type_name(expected)),
        Error::InvalidScalar { ty, .. } => format!("expected {}", type_name(ty)),
        Error::SerdeInvalidType { .. } | Error::SerdeInvalidValue { .. } => type_fault(&without_place(error)),
        other => without_place(other),
    }
}

/// The parser appends the place of what it reports.
fn without_place(error: &Error) -> String {
    let words = error.to_string();
    let Some(place) = error.location() else { return words };
    words.strip_suffix(&format!(" at {}", Position::of(place))).map(str::to_owned).unwrap_or(words)
}

/// Returns what stands where a scalar of another type is expected: the parser's error has only its place.
fn found(error: &Error, text: &str) -> Option<String> {
    let error = error.without_snippet();
    let (Error::InvalidScalar { location, .. } | Error::Unexpected { location, .. }) = error else {
        return None;
    };
    let place = Position::of(*location);
    let line = text.lines().nth(place.line.checked_sub(1)?)?;
    let rest: String = line.chars().skip(place.column.checked_sub(1)?).collect();
    match rest.chars().next()? {
        '[' => Some("a list".to_owned()),
        '{' => Some("a map".to_owned()),
        // Of others where they end is the parser's to say.
        _ => {
            let span = location.span();
            let begin = usize::try_from(span.byte_offset()?).ok()?;
            let scalar = text.get(begin..begin.checked_add(usize::try_from(span.byte_len()?).ok()?)?)?;
            let is_short =
                !scalar.is_empty() && !scalar.contains('\n') && scalar.chars().count() <= SHOWN_MAX;
            is_short.then(|| scalar.to_owned())
        }
    }
}

/// `invalid type: sequence, expected i32`, as serde says it, in words that are no programmer's: `expected a whole number, found a list`.
/// Anything else stays as it is.
pub fn type_fault(words: &str) -> String {
    let fault = words.strip_prefix("invalid type: ").or_else(|| words.strip_prefix("invalid value: "));
    let Some((found, expected)) = fault.and_then(|fault| fault.rsplit_once(", expected ")) else {
        return words.to_owned();
    };
    let quoted = |kind: &str| found.strip_prefix(kind)?.strip_prefix('`')?.strip_suffix('`');
    let found = match found {
        "sequence" => "a list",
        "map" => "a map",
        "unit value" | "Option value" => "null",
        other => ["integer ", "floating point ", "boolean ", "character "]
            .iter()
            .find_map(|kind| quoted(kind))
            .or_else(|| other.strip_prefix("string "))
            .unwrap_or(other),
    };
    format!("expected {}, found {found}", type_name(expected))
}

fn type_name(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "integer" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number that is not negative",
        "f32" | "f64" | "floating point" => "a number",
        "bool" | "boolean" | "a boolean" => "true or false",
        "string scalar" | "str" | "string" => "a string",
        "scalar" => "a single value",
        "sequence" | "a sequence" | "sequence start" => "a list",
        "map" | "mapping start" => "a map",
        other => other.strip_prefix("struct ").map_or(other, |_| "a map"),
    }
}

/// The path of a field as users write it. A value that isn't one of those known is no part of it.
fn field_path(path: &Path) -> String {
    let mut text = String::new();
    let mut segments = path.iter().peekable();
    while let Some(segment) = segments.next() {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Enum { .. } if segments.peek().is_none() => {}
            Segment::Map { key: name } | Segment::Enum { variant: name } => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.extend(name.chars().take(SHOWN_MAX));
            }
            Segment::Unknown => {}
        }
    }
    text
}

/// Where the value of a field stands in a document, by the field's path such as `spec.containers[0].image` or `labels[app]`.
pub fn place_of(text: &str, options: Options, path: &str) -> Option<Position> {
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        FieldAt(path).deserialize(deserializer)
    })
    .ok()?
    .map(Position::of)
}

/// Goes down a path, and passes over everything else.
struct FieldAt<'a>(&'a str);

impl<'a> FieldAt<'a> {
    /// Returns what is left of the path below this key, in either notation.
    fn below(&self, key: &str) -> Option<Self> {
        let bracketed = self.0.strip_prefix('[').and_then(|path| path.strip_prefix(key)?.strip_prefix(']'));
        let rest: &'a str = bracketed.or_else(|| self.0.strip_prefix(key))?;
        match rest.chars().next() {
            None | Some('[') => Some(Self(rest)),
            Some('.') => Some(Self(&rest[1..])),
            Some(_) => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for FieldAt<'_> {
    type Value = Option<Location>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return Spanned::<IgnoredAny>::deserialize(deserializer).map(|value| Some(value.referenced));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldAt<'_> {
    type Value = Option<Location>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            match self.below(&key).filter(|_| found.is_none()) {
                Some(below) => found = map.next_value_seed(below)?,
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        for index in 0_usize.. {
            let is_there = match self.below(&index.to_string()).filter(|_| self.0.starts_with('[')) {
                Some(below) => list.next_element_seed(below)?.inspect(|place| found = *place).is_some(),
                None => list.next_element::<IgnoredAny>()?.is_some(),
            };
            if !is_there {
                break;
            }
        }
        Ok(found)
    }

    // A scalar has no fields: the path leads elsewhere.
    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
