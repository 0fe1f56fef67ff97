//! `record:`: which calls are kept for replay.

use super::document::RecordDocument;
use super::{ConfigError, field};
use crate::record::{RECORDS_MAX, RecordTrigger, Recording};

pub(super) fn parse(document: RecordDocument, path: &str) -> Result<Recording, ConfigError> {
    let RecordDocument { max, on } = document;
    if !(1..=RECORDS_MAX).contains(&max) {
        return field(&format!("{path}.max"), format!("must be between 1 and {RECORDS_MAX}, found {max}"));
    }
    let Some(names) = on else { return Ok(Recording { max, on: [].into() }) };
    if names.is_empty() {
        return field(&format!("{path}.on"), "must not be empty: remove it to keep every call");
    }
    let mut on = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let Some(trigger) = RecordTrigger::ALL.into_iter().find(|trigger| trigger.as_str() == name) else {
            let known = RecordTrigger::ALL.map(RecordTrigger::as_str).join(", ");
            return field(&format!("{path}.on[{index}]"), format!("{name:?} is none of {known}"));
        };
        on.push(trigger);
    }
    Ok(Recording { max, on: on.into() })
}
