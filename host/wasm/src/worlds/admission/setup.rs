//! What a handler says when it is loaded: what it is to be asked about, and what the operator should know.

use witlet_core::admission::Operation;

use crate::guest::log::printable;
use crate::worlds::remarks::Warnings;

/// How many names of operations that don't exist are reported.
const UNKNOWN_MAX: usize = 8;
/// How much of such a name is reported.
const NAME_BYTES_MAX: usize = 64;

/// What a handler's `validate` said next to yes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Setup {
    operations: Vec<Operation>,
    unknown: Vec<String>,
    pub(crate) warnings: Warnings,
}

impl Setup {
    /// Creates the setup of a handler whose contract has no subscriptions, but asks about these.
    pub(crate) fn fixed(operations: &[Operation]) -> Self {
        Self { operations: operations.to_vec(), ..Self::default() }
    }

    pub(crate) fn subscribe(&mut self, name: &str) {
        match Operation::parse(name) {
            Some(operation) if self.operations.contains(&operation) => {}
            Some(operation) => self.operations.push(operation),
            None => {
                let name = printable(name, NAME_BYTES_MAX);
                if self.unknown.len() < UNKNOWN_MAX && !self.unknown.contains(&name) {
                    self.unknown.push(name);
                }
            }
        }
    }

    pub(crate) fn warn(&mut self, message: &str) {
        self.warnings.add(message);
    }

    /// Whether the handler is asked when this happens.
    pub(crate) fn subscribes(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }

    /// Why a handler with these subscriptions is of no use here; none if it is of use.
    pub(crate) fn fault(&self) -> Option<String> {
        let known = Operation::names();
        if !self.unknown.is_empty() {
            let unknown: Vec<String> = self.unknown.iter().map(|name| format!("{name:?}")).collect();
            let unknown = unknown.join(", ");
            return Some(format!("it subscribes to {unknown}, which this host doesn't know; it has {known}"));
        }
        self.operations.is_empty().then(|| format!("it subscribes to nothing; this host has {known}"))
    }
}

#[cfg(test)]
mod tests;
