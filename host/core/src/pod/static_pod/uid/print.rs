//! How Go prints a pod with the settings of upstream's `dump.ForHash` (`k8s.io/utils/dump`): types before values, private fields
//! too, pointers followed, keys of maps in order, texts as they are.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::quantity::Quantity;
use super::types::TYPES;

/// Seconds from the year 1, where Go's clock begins, to 1970.
const GO_EPOCH_SECONDS: i128 = 62_135_596_800;
const NIL: &str = "<nil>";
/// The time zone of a machine whose `/etc/localtime` is UTC, as Go keeps it.
const UTC_ZONE: &str = "(*time.Location){name:(string)Local zone:([]time.zone)[{name:(string)UTC offset:(int)0 isDST:(bool)false}] \
    tx:([]time.zoneTrans)[{when:(int64)-9223372036854775808 index:(uint8)0 isstd:(bool)false isutc:(bool)false}] \
    extend:(string)UTC0 cacheStart:(int64)-9223372036854775808 cacheEnd:(int64)9223372036854775807 \
    cacheZone:(*time.zone){name:(string)UTC offset:(int)0 isDST:(bool)false}}";

/// A pod, from its JSON form with the fields of upstream's internal types.
pub(super) fn pod(pod: &Value) -> String {
    let mut printer = Printer { text: String::with_capacity(16 * 1024) };
    printer.typed("*core.Pod", Some(pod));
    printer.text
}

struct Printer {
    text: String,
}

impl Printer {
    /// A value with its type before it.
    fn typed(&mut self, type_name: &'static str, json: Option<&Value>) {
        self.text.push('(');
        self.text.push_str(type_name);
        self.text.push(')');
        let json = json.filter(|json| !json.is_null());
        match type_name.strip_prefix('*') {
            None => self.bare(type_name, json),
            Some(target) => match json.filter(|json| is_known(target, json)) {
                Some(json) => self.bare(target, Some(json)),
                None => self.text.push_str(NIL),
            },
        }
    }

    /// A value without its type. What is missing is Go's zero.
    fn bare(&mut self, type_name: &'static str, json: Option<&Value>) {
        let underlying = TYPES.underlying(type_name);
        if let Some(fields) = TYPES.fields(type_name) {
            self.list('{', '}', fields, |printer, field| {
                let of_field = match &field.key {
                    None => json,
                    Some(key) => json.and_then(|json| json.get(key)),
                };
                printer.text.push_str(field.name);
                printer.text.push(':');
                printer.typed(field.type_name, of_field);
            });
        } else if let Some(of_item) = underlying.strip_prefix("[]") {
            match json.and_then(Value::as_array) {
                None => self.text.push_str(NIL),
                Some(items) => self.list('[', ']', items, |printer, item| printer.bare(of_item, Some(item))),
            }
        } else if let Some((_, of_value)) =
            underlying.strip_prefix("map[").and_then(|rest| rest.split_once(']'))
        {
            match json.and_then(Value::as_object) {
                None => self.text.push_str(NIL),
                Some(map) => self.map(type_name, of_value, map),
            }
        } else {
            self.scalar(type_name, json);
        }
    }

    fn list<T>(&mut self, open: char, close: char, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        self.text.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push(' ');
            }
            print(self, item);
        }
        self.text.push(close);
    }

    fn map(&mut self, type_name: &str, of_value: &'static str, map: &Map<String, Value>) {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        self.text.push_str("map");
        self.list('[', ']', &entries, |printer, (key, value)| {
            printer.text.push_str(key);
            printer.text.push(':');
            if type_name == "core.ResourceList" {
                // `SetDefaults_ResourceList`
                printer.quantity(Quantity::of_json(value).rounded_to_milli());
            } else {
                printer.bare(of_value, Some(value));
            }
        });
    }

    fn scalar(&mut self, type_name: &str, json: Option<&Value>) {
        match type_name {
            "resource.Quantity" => self.quantity(json.map(Quantity::of_json).unwrap_or_default()),
            "intstr.IntOrString" => {
                let number = json.and_then(Value::as_i64).unwrap_or_default();
                let text = json.and_then(Value::as_str);
                self.put(format_args!(
                    "{{Type:(intstr.Type){} IntVal:(int32){number} StrVal:(string){}}}",
                    u8::from(text.is_some()),
                    text.unwrap_or_default(),
                ));
            }
            "v1.Time" => self.time(json.and_then(Value::as_str).and_then(|time| time.parse().ok())),
            "bool" => self.put(format_args!("{}", json.and_then(Value::as_bool).unwrap_or_default())),
            "int32" | "int64" => {
                self.put(format_args!("{}", json.and_then(Value::as_i64).unwrap_or_default()));
            }
            _ => self.text.push_str(json.and_then(Value::as_str).unwrap_or_default()),
        }
    }

    fn quantity(&mut self, quantity: Quantity) {
        self.put(format_args!("{quantity}"));
    }

    fn time(&mut self, time: Option<Timestamp>) {
        let (nanoseconds, seconds, zone) = match time {
            // Fractions count forwards, before 1970 too.
            Some(time) => (
                time.as_nanosecond().rem_euclid(1_000_000_000),
                time.as_nanosecond().div_euclid(1_000_000_000) + GO_EPOCH_SECONDS,
                UTC_ZONE,
            ),
            None => (0, 0, "(*time.Location)<nil>"),
        };
        self.put(format_args!(
            "{{Time:(time.Time){{wall:(uint64){nanoseconds} ext:(int64){seconds} loc:{zone}}}}}"
        ));
    }

    fn put(&mut self, words: std::fmt::Arguments<'_>) {
        self.text.write_fmt(words).expect("writing to a string can't fail");
    }
}

/// Whether a pointer's target can be printed: an object of a type that isn't in the table is one that no manifest may have.
fn is_known(type_name: &str, json: &Value) -> bool {
    !json.is_object() || TYPES.fields(type_name).is_some() || type_name == "resource.Quantity"
}
