//! What a handler says when it is loaded.

use std::cell::RefCell;

use crate::admission::handler::set_up;
use crate::{AdmissionHandler, Error, Operation, Setup};

/// What a handler said when it was loaded.
#[derive(Debug, Default)]
pub struct SetupFacts {
    subscribed: RefCell<Vec<Operation>>,
    warnings: RefCell<Vec<String>>,
}

impl SetupFacts {
    /// What it is asked about.
    pub fn subscribed(&self) -> Vec<Operation> {
        self.subscribed.borrow().clone()
    }

    /// What the operator reads.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    pub(crate) fn subscribe(&self, operation: &str) {
        let operation = Operation::from(operation.to_owned());
        let mut subscribed = self.subscribed.borrow_mut();
        if !subscribed.contains(&operation) {
            subscribed.push(operation);
        }
    }

    pub(crate) fn knows(&self, operation: &str) -> bool {
        Operation::known().iter().any(|known| known.as_str() == operation)
    }

    pub(crate) fn warn(&self, message: &str) {
        self.warnings.borrow_mut().push(message.to_owned());
    }
}

/// Loads a handler as the host does.
///
/// # Errors
/// When the handler refuses its configuration, or the host would refuse its subscriptions.
pub fn validate(handler: &impl AdmissionHandler) -> Result<SetupFacts, Error> {
    let setup = SetupFacts::default();
    set_up(handler, &Setup::new(&setup))?;
    let subscribed = setup.subscribed();
    if subscribed.is_empty() {
        return Err(Error::invalid("subscribes", "it subscribes to nothing"));
    }
    match subscribed.iter().find(|operation| !setup.knows(operation.as_str())) {
        Some(operation) => Err(Error::invalid("subscribes", &format!("the host doesn't know {operation}"))),
        None => Ok(setup),
    }
}
