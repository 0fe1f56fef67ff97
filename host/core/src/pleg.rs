//! The pod lifecycle event generator (PLEG): what changed in the runtime between two checks of it.

pub mod diff;

pub use diff::{PlegEvent, PlegEventKind, PlegSubject, diff};
