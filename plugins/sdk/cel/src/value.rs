//! Values of expressions.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use crate::budget::{Budget, Exhausted};
use crate::quantity::Quantity;
use crate::url::Url;

/// The years that CEL's timestamps lie in: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z, in seconds.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` and `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that isn't negative, such as `1u`.
    UInt(u64),
    /// A number with a point.
    Double(f64),
    /// A text.
    String(Rc<str>),
    /// Bytes.
    Bytes(Rc<[u8]>),
    /// A list.
    List(Rc<Vec<Value>>),
    /// A map, or an object.
    Map(Rc<Map>),
    /// A type as a value.
    Type(&'static str),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A moment.
    Timestamp(jiff::Timestamp),
    /// An optional value.
    Optional(Option<Rc<Value>>),
    /// An amount, such as `500Mi`.
    Quantity(Rc<Quantity>),
    /// An address.
    Ip(Rc<IpAddr>),
    /// A network.
    Cidr(Rc<Cidr>),
    /// A URL.
    Url(Rc<Url>),
    /// A format that texts may have, by its name.
    Format(&'static str),
}

/// A network: address, which may have bits of a host, and length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `true` and `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond those of [`Key::Int`]; smaller ones are the same key, whatever their type.
    UInt(u64),
    /// A text.
    String(Rc<str>),
}

/// Keys with their values, sorted by key.
#[derive(Clone, Debug, Default)]
pub struct Map(Vec<(Key, Value)>);

impl Map {
    /// A map of these entries; of those with the same key the last one counts.
    pub fn new(mut entries: Vec<(Key, Value)>) -> Self {
        if !entries.is_sorted_by(|one, other| one.0 < other.0) {
            entries.reverse();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            entries.dedup_by(|one, other| one.0 == other.0);
        }
        entries.shrink_to_fit();
        Self(entries)
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        let at = self.0.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The value of a text.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let order = |(key, _): &(Key, Value)| match key {
            Key::String(key) => (**key).cmp(name),
            Key::Bool(_) | Key::Int(_) | Key::UInt(_) => Ordering::Less,
        };
        let at = self.0.binary_search_by(order).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// All entries, by key.
    pub fn entries(&self) -> &[(Key, Value)] {
        &self.0
    }
}

impl Key {
    /// The key that a value is; none for a value that can't be one.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(is_true) => Some(Self::Bool(*is_true)),
            Value::Int(number) => Some(Self::Int(*number)),
            Value::UInt(number) => Some(i64::try_from(*number).map_or(Self::UInt(*number), Self::Int)),
            // A whole number with a point finds the same entry.
            Value::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(Self::Int(*number as i64))
            }
            Value::String(text) => Some(Self::String(text.clone())),
            _ => None,
        }
    }

    /// The key as a value.
    pub fn value(&self) -> Value {
        match self {
            Self::Bool(is_true) => Value::Bool(*is_true),
            Self::Int(number) => Value::Int(*number),
            Self::UInt(number) => Value::UInt(*number),
            Self::String(text) => Value::String(text.clone()),
        }
    }
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Rc<str>>) -> Self {
        Self::String(text.into())
    }

    /// A list.
    pub fn list(elements: Vec<Value>) -> Self {
        Self::List(Rc::new(elements))
    }

    /// A map with texts as keys.
    pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self::of_entries(entries.into_iter().map(|(key, value)| (Key::String(key.into()), value)).collect())
    }

    /// A map of these entries.
    pub fn of_entries(entries: Vec<(Key, Value)>) -> Self {
        Self::Map(Rc::new(Map::new(entries)))
    }

    pub(crate) fn some(value: Value) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// The name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Optional(_) => "optional_type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// Whether values are the same. Numbers are by what they count, whatever their type; values of other different types
    /// aren't the same.
    pub(crate) fn equals(&self, other: &Self, budget: &Budget) -> Result<bool, Exhausted> {
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (
                Self::Int(_) | Self::UInt(_) | Self::Double(_),
                Self::Int(_) | Self::UInt(_) | Self::Double(_),
            ) => self.order(other) == Some(Ordering::Equal),
            (Self::String(one), Self::String(other)) => {
                budget.read(one.len().min(other.len()))?;
                one == other
            }
            (Self::Bytes(one), Self::Bytes(other)) => {
                budget.read(one.len().min(other.len()))?;
                one == other
            }
            (Self::List(one), Self::List(other)) => {
                one.len() == other.len() && all_equal(one.iter().zip(other.iter()), budget)?
            }
            (Self::Map(one), Self::Map(other)) => {
                one.0.len() == other.0.len()
                    && same_keys(one, other, budget)?
                    && all_equal(
                        one.0.iter().map(|(_, value)| value).zip(other.0.iter().map(|(_, value)| value)),
                        budget,
                    )?
            }
            (Self::Type(one), Self::Type(other)) | (Self::Format(one), Self::Format(other)) => one == other,
            (Self::Duration(one), Self::Duration(other)) => one == other,
            (Self::Timestamp(one), Self::Timestamp(other)) => one == other,
            (Self::Optional(None), Self::Optional(None)) => true,
            (Self::Optional(Some(one)), Self::Optional(Some(other))) => {
                all_equal([(&**one, &**other)].into_iter(), budget)?
            }
            (Self::Quantity(one), Self::Quantity(other)) => one == other,
            (Self::Ip(one), Self::Ip(other)) => one == other,
            (Self::Cidr(one), Self::Cidr(other)) => one == other,
            (Self::Url(one), Self::Url(other)) => one == other,
            _ => false,
        })
    }

    /// Whether values lie in values at most so deep.
    pub(crate) fn is_flatter_than(&self, depth: u32, budget: &Budget) -> Result<bool, Exhausted> {
        budget.spend(1)?;
        let Some(below) = depth.checked_sub(1) else { return Ok(false) };
        let mut flat = true;
        match self {
            Self::List(list) => {
                for element in list.iter() {
                    flat = flat && element.is_flatter_than(below, budget)?;
                }
            }
            Self::Map(map) => {
                for (_, value) in map.entries() {
                    flat = flat && value.is_flatter_than(below, budget)?;
                }
            }
            Self::Optional(Some(value)) => flat = value.is_flatter_than(below, budget)?,
            _ => {}
        }
        Ok(flat)
    }

    /// How two values are ordered; none for those that have no order, NaN among them.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::Int(one), Self::Int(other)) => Some(one.cmp(other)),
            (Self::UInt(one), Self::UInt(other)) => Some(one.cmp(other)),
            (Self::Double(one), Self::Double(other)) => one.partial_cmp(other),
            (Self::Int(one), Self::UInt(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
            (Self::UInt(one), Self::Int(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
            (Self::Double(one), Self::Int(other)) => order_of_double(*one, i128::from(*other)),
            (Self::Double(one), Self::UInt(other)) => order_of_double(*one, i128::from(*other)),
            (Self::Int(one), Self::Double(other)) => {
                order_of_double(*other, i128::from(*one)).map(Ordering::reverse)
            }
            (Self::UInt(one), Self::Double(other)) => {
                order_of_double(*other, i128::from(*one)).map(Ordering::reverse)
            }
            (Self::String(one), Self::String(other)) => Some(one.cmp(other)),
            (Self::Bytes(one), Self::Bytes(other)) => Some(one.cmp(other)),
            (Self::Duration(one), Self::Duration(other)) => Some(one.cmp(other)),
            (Self::Timestamp(one), Self::Timestamp(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }

    /// About how many bytes the value takes by itself, without what it has in it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len() * size_of::<Self>(),
            Self::Map(map) => map.0.len() * size_of::<(Key, Self)>(),
            _ => size_of::<Self>(),
        }
    }
}

/// Whether a moment lies in the years of CEL's timestamps.
pub(crate) fn is_in_range(moment: &jiff::Timestamp) -> bool {
    SECONDS.contains(&moment.as_second())
}

/// Whether maps of the same length have the same keys.
fn same_keys(one: &Map, other: &Map, budget: &Budget) -> Result<bool, Exhausted> {
    for ((one, _), (other, _)) in one.0.iter().zip(&other.0) {
        if let Key::String(text) = one {
            budget.read(text.len())?;
        }
        if one != other {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Values may share what is in them, so that comparing takes more steps than making them: each counts.
fn all_equal<'a>(
    pairs: impl Iterator<Item = (&'a Value, &'a Value)>,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    budget.enter()?;
    let mut equal = true;
    for (one, other) in pairs {
        budget.spend(1)?;
        equal = one.equals(other, budget)?;
        if !equal {
            break;
        }
    }
    budget.leave();
    Ok(equal)
}

/// A number with a point against a whole one, exactly.
fn order_of_double(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // Beyond this no whole number of 64 bits is; within, the integer part is exact.
    if double.abs() >= 1e30 {
        return Some(if double > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let floor = double.floor();
    Some((floor as i128).cmp(&whole).then(if double > floor { Ordering::Greater } else { Ordering::Equal }))
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::text(value)
    }
}
