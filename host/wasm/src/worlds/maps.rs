//! Maps of the API's objects, as guests see them.

use std::collections::BTreeMap;

type Strings = BTreeMap<String, String>;

/// The entries, sorted by key.
pub(crate) fn pairs(map: Option<&Strings>) -> Vec<(String, String)> {
    map.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The value of this key.
pub(crate) fn value(map: Option<&Strings>, key: &str) -> Option<String> {
    map.and_then(|map| map.get(key)).cloned()
}
