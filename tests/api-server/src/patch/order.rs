//! `$setElementOrder` of strategic merge patches: in which order a merged list is to be, and what of it the patch sets.

use serde_json::{Map, Value};

use super::{ListRule, list_rule, no_merge_key};
use crate::error::ApiError;

const PREFIX: &str = "$setElementOrder/";

/// The order of one list.
pub(super) struct Order {
    field: String,
    /// The key of its objects; none for primitives, which are their own.
    merge_key: Option<&'static str>,
    /// Keys as the patch has them.
    expected: Vec<Value>,
    /// Keys as the server had them.
    before: Vec<Value>,
}

impl Order {
    /// Takes the directives out of a patch that isn't applied yet. `at` is the field that the patched object lies in.
    ///
    /// # Errors
    /// 500, as of upstream's server, for a directive that is no list, and where the patch's own list has another order or
    /// something that the directive doesn't name.
    pub(super) fn take_all(
        target: &Map<String, Value>,
        patch: &mut Map<String, Value>,
        at: &str,
    ) -> Result<Vec<Self>, ApiError> {
        let names: Vec<String> = patch.keys().filter(|key| key.starts_with(PREFIX)).cloned().collect();
        let mut orders = Vec::new();
        for name in names {
            let directive = patch.remove(&name).unwrap_or_default();
            let field = name.trim_start_matches(PREFIX).to_owned();
            let merge_key = match list_rule(at, &field) {
                ListRule::ByKey(key) => Some(key),
                ListRule::Atomic | ListRule::Set => None,
            };
            let bad = || ApiError::new(500, "", format!("expected a list in {name}, got {directive}"));
            let items = directive.as_array().ok_or_else(bad)?;
            let expected = items.iter().map(|item| key_of(item, merge_key)).collect::<Result<Vec<_>, _>>()?;
            if let Some(patched) = patch.get(&field).filter(|list| !list.is_null()) {
                check(patched.as_array().ok_or_else(bad)?, &expected, merge_key, &directive)?;
            }
            let had = target.get(&field).and_then(Value::as_array).into_iter().flatten();
            let before = had.filter_map(|item| key_of(item, merge_key).ok()).collect();
            orders.push(Self { field, merge_key, expected, before });
        }
        Ok(orders)
    }

    /// Orders the list, which was merged by now. What only the server has is put in as early as the order that it was in allows.
    pub(super) fn apply(self, target: &mut Map<String, Value>) {
        let Some(list) = target.get_mut(&self.field).and_then(Value::as_array_mut) else { return };
        let key = |item: &Value| key_of(item, self.merge_key).unwrap_or_default();
        let place = |keys: &[Value], item: &Value| keys.iter().position(|known| *known == key(item));
        let (mut patched, mut others): (Vec<Value>, Vec<Value>) =
            std::mem::take(list).into_iter().partition(|item| place(&self.expected, item).is_some());
        patched.sort_by_key(|item| place(&self.expected, item));
        others.sort_by_key(|item| place(&self.before, item).unwrap_or(usize::MAX));
        let mut others = others.into_iter().peekable();
        for item in patched {
            let next = place(&self.before, &item);
            let is_before = |other: &Value| match (place(&self.before, other), next) {
                (Some(other), Some(next)) => other < next,
                _ => false,
            };
            while let Some(other) = others.next_if(is_before) {
                list.push(other);
            }
            list.push(item);
        }
        list.extend(others);
    }
}

/// What tells an item of a list from the others.
fn key_of(item: &Value, merge_key: Option<&'static str>) -> Result<Value, ApiError> {
    match merge_key {
        None => Ok(item.clone()),
        Some(merge_key) => item.get(merge_key).cloned().ok_or_else(|| no_merge_key(item, merge_key)),
    }
}

/// Whatever the patch sets must be named by the directive, in the same order; what has a directive of its own needn't be.
fn check(
    patched: &[Value],
    expected: &[Value],
    merge_key: Option<&'static str>,
    directive: &Value,
) -> Result<(), ApiError> {
    if expected.is_empty() {
        return Ok(());
    }
    let mut left = expected.iter();
    for item in patched.iter().filter(|item| item.get("$patch").is_none()) {
        let key = key_of(item, merge_key)?;
        if !left.any(|expected| *expected == key) {
            let list = Value::from(patched.to_vec());
            let message = format!(
                "The order in patch list:\n{list}\n doesn't match $setElementOrder list:\n{directive}\n"
            );
            return Err(ApiError::new(500, "", message));
        }
    }
    Ok(())
}
