//! Components whose exports have the right names and the wrong types.

use thiserror::Error;

/// What an instance exports isn't what the contract says, in the engine's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct Unfit(pub(crate) String);

/// Says of an error while an instance's exports were looked up that they don't fit.
pub(crate) fn unfit(error: wasmtime::Error) -> wasmtime::Error {
    wasmtime::Error::new(Unfit(format!("{error:#}")))
}
