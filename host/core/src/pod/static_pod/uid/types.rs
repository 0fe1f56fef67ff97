//! The table of upstream's types, `types.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A field of a Go struct.
pub(super) struct Field {
    /// The field's name in Go.
    pub(super) name: &'static str,
    /// Its name in a manifest; none if its own fields stand among those around it.
    pub(super) key: Option<String>,
    /// Its type, as Go prints it.
    pub(super) type_name: &'static str,
}

/// What is known of types, by their names as Go prints them.
pub(super) struct Types {
    structs: HashMap<&'static str, Vec<Field>>,
    others: HashMap<&'static str, &'static str>,
}

pub(super) static TYPES: LazyLock<Types> = LazyLock::new(|| Types::parse(include_str!("types.txt")));

impl Types {
    fn parse(table: &'static str) -> Self {
        let mut types = Self { structs: HashMap::new(), others: HashMap::new() };
        let mut current = "";
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            if let Some(fields) = line.strip_prefix("  ") {
                let fields = fields.split(',').filter_map(|field| Field::parse(field.trim()));
                types.structs.entry(current).or_default().extend(fields);
            } else if let Some((name, other)) = line.split_once(" = ") {
                types.others.insert(name, other);
            } else {
                current = line;
            }
        }
        types
    }

    /// The fields of a struct, in their order.
    pub(super) fn fields(&self, type_name: &str) -> Option<&[Field]> {
        self.structs.get(type_name).map(Vec::as_slice)
    }

    /// Returns what a named list or map is; any other type is itself.
    pub(super) fn underlying(&self, type_name: &'static str) -> &'static str {
        self.others.get(type_name).copied().unwrap_or(type_name)
    }
}

impl Field {
    fn parse(text: &'static str) -> Option<Self> {
        let (name, type_name) = text.split_once(' ')?;
        let (name, key) = match name.split_once('=') {
            Some((name, ".")) => (name, None),
            Some((name, key)) => (name, Some(key.to_owned())),
            None => {
                let mut letters = name.chars();
                let first = letters.next().map(|letter| letter.to_ascii_lowercase());
                (name, Some(first.into_iter().chain(letters).collect()))
            }
        };
        Some(Self { name, key, type_name })
    }
}
