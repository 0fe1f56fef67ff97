//! Names that weren't looked up.

use thiserror::Error;

use crate::reach::PINS_MAX;
use crate::resolve::ResolveError;

/// A name that wasn't looked up, or in vain.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LookupError {
    /// No grant names it, or it is no name.
    #[error("{name:?} is not granted")]
    Denied {
        /// As it was asked for.
        name: String,
    },
    /// It resolves to nothing that it may open, such as loopback and link-local addresses only.
    #[error("no address of {name} is granted")]
    AddressesDenied { name: String },
    /// The call has looked up too many names.
    #[error("a call must look up at most {PINS_MAX} names")]
    TooMany,
    /// The resolver has nothing.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}
