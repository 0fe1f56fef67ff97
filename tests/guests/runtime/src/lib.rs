//! Components for the tests of the embedded runtime: the example workloads, and `subject`, which does what its
//! first argument says.
#![forbid(unsafe_code)]

/// The components by their names, with `_` for `-`.
pub mod components {
    include!(concat!(env!("OUT_DIR"), "/components.rs"));
}
