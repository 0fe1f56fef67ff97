//! What a source says when it is loaded.

use std::cell::RefCell;

use super::{PodSource, Setup};
use crate::Error;

/// What a source warned of.
#[derive(Debug, Default)]
pub(crate) struct SetupFacts(RefCell<Vec<String>>);

impl SetupFacts {
    pub(crate) fn warn(&self, message: &str) {
        self.0.borrow_mut().push(message.to_owned());
    }
}

/// Loads a pod source as the host does, and returns what it warned of.
///
/// # Errors
/// When it refuses its configuration.
pub fn validate_source(source: &impl PodSource) -> Result<Vec<String>, Error> {
    let facts = SetupFacts::default();
    source.validate(&Setup::new(&facts))?;
    Ok(facts.0.into_inner())
}
