//! What the checker knows of values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Anything: known when the expression is evaluated only.
    Dyn,
    /// `null`
    Null,
    /// `true` and `false`
    Bool,
    /// Whole numbers.
    Int,
    /// Whole numbers that aren't negative.
    UInt,
    /// Numbers with a point.
    Double,
    /// Texts.
    String,
    /// Bytes.
    Bytes,
    /// Spans of time.
    Duration,
    /// Moments.
    Timestamp,
    /// Types as values.
    Type,
    /// Amounts.
    Quantity,
    /// Addresses.
    Ip,
    /// Networks.
    Cidr,
    /// URLs.
    Url,
    /// Formats of texts.
    Format,
    /// Lists of elements of a type.
    List(Rc<Type>),
    /// Maps.
    Map(Rc<Type>, Rc<Type>),
    /// Values that may be missing.
    Optional(Rc<Type>),
    /// Objects with fields that a schema knows.
    Object(Rc<str>),
    /// Any type in a signature, the same wherever its letter stands.
    Param(char),
}

const NAMES: &[(&str, Type)] = &[
    ("dyn", Type::Dyn),
    ("null", Type::Null),
    ("bool", Type::Bool),
    ("int", Type::Int),
    ("uint", Type::UInt),
    ("double", Type::Double),
    ("string", Type::String),
    ("bytes", Type::Bytes),
    ("duration", Type::Duration),
    ("timestamp", Type::Timestamp),
    ("type", Type::Type),
    ("quantity", Type::Quantity),
    ("ip", Type::Ip),
    ("cidr", Type::Cidr),
    ("url", Type::Url),
    ("namedFormat", Type::Format),
    ("A", Type::Param('A')),
    ("B", Type::Param('B')),
];

impl Type {
    /// A list of a type.
    pub fn list(element: Self) -> Self {
        Self::List(Rc::new(element))
    }

    /// A map with texts as keys.
    pub fn map(value: Self) -> Self {
        Self::Map(Rc::new(Self::String), Rc::new(value))
    }

    /// An object of a schema.
    pub fn object(name: &str) -> Self {
        Self::Object(name.into())
    }

    /// Reads `list(map(string,Quantity))`. What no type is called is an object's.
    pub(crate) fn parse(text: &str) -> Self {
        let (name, inner) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').unwrap_or(rest)),
            None => (text, ""),
        };
        let mut inner = list_of_types(inner).into_iter();
        let mut next = || Rc::new(inner.next().unwrap_or(Self::Dyn));
        match name {
            "list" => Self::List(next()),
            "map" => {
                let key = next();
                Self::Map(key, next())
            }
            "optional" => Self::Optional(next()),
            _ => NAMES
                .iter()
                .find(|(other, _)| *other == name)
                .map_or_else(|| Self::object(name), |(_, it)| it.clone()),
        }
    }
}

/// Types between commas.
pub(crate) fn list_of_types(text: &str) -> Vec<Type> {
    let (mut depth, mut begin, mut types) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                types.push(Type::parse(&text[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    if begin < text.len() {
        types.push(Type::parse(&text[begin..]));
    }
    types
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(value) => write!(f, "optional({value})"),
            Self::Object(name) => f.write_str(name),
            Self::Param(letter) => write!(f, "{letter}"),
            simple => f.write_str(NAMES.iter().find(|(_, it)| it == simple).map_or("", |(name, _)| name)),
        }
    }
}

/// Fields of objects. Texts have one object a line: its name, then `field:type` for each field.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    objects: BTreeMap<Rc<str>, BTreeMap<Rc<str>, Type>>,
    /// Objects of which fields may be asked for that aren't there.
    open: BTreeSet<Rc<str>>,
}

impl Schema {
    /// Reads a schema; lines that begin with `#` and empty ones say nothing.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let objects = lines.map(|line| {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default();
            let fields = words.filter_map(|word| word.split_once(':'));
            (name.into(), fields.map(|(field, of)| (field.into(), Type::parse(of))).collect())
        });
        Self { objects: objects.collect(), open: BTreeSet::new() }
    }

    /// Adds an object, or replaces it.
    pub fn insert(&mut self, name: &str, fields: impl IntoIterator<Item = (String, Type)>) {
        let fields = fields.into_iter().map(|(field, of)| (Rc::from(field), of));
        self.objects.insert(name.into(), fields.collect());
    }

    /// Adds an object of which any field may be asked whether it is there.
    pub fn insert_open(&mut self, name: &str, fields: impl IntoIterator<Item = (String, Type)>) {
        self.insert(name, fields);
        self.open.insert(name.into());
    }

    /// Adds fields to an object.
    pub fn extend(&mut self, name: &str, fields: impl IntoIterator<Item = (String, Type)>) {
        let fields = fields.into_iter().map(|(field, of)| (Rc::from(field), of));
        self.objects.entry(name.into()).or_default().extend(fields);
    }

    pub(crate) fn is_open(&self, name: &str) -> bool {
        self.open.contains(name)
    }

    /// The fields of an object; none if the schema doesn't know it.
    pub(crate) fn fields(&self, name: &str) -> Option<&BTreeMap<Rc<str>, Type>> {
        self.objects.get(name)
    }

    /// Types that fields have and the schema doesn't know, for tests of schemas.
    pub fn dangling(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, fields) in &self.objects {
            for (field, of) in fields {
                let mut of = of;
                while let Type::List(inner) | Type::Map(_, inner) | Type::Optional(inner) = of {
                    of = inner;
                }
                if matches!(of, Type::Object(of) if !self.objects.contains_key(of)) {
                    found.push(format!("{name}.{field}: {of}"));
                }
            }
        }
        found
    }
}
