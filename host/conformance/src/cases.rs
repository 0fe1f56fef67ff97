//! Case files: what the author of a plugin says that it must answer.
//!
//! One file (YAML or JSON) has cases of one role; `vectors/README.md` in this crate describes the format for those who
//! write such files, and for other hosts that read them.

pub(crate) mod expect;
pub(crate) mod find;
pub(crate) mod matching;
pub(crate) mod model;
pub(crate) mod parse;
mod recorded;
mod request;

pub use find::{find, next_to};
pub use model::{API_VERSION, CASES_MAX, CaseFile, CasesError, FILE_BYTES_MAX, KIND};
pub use recorded::{NoCaseError, of_recording};
pub use request::{NodeFieldError, node};

#[cfg(test)]
mod tests;
