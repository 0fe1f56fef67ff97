//! Commands in the probed container.
//!
//! They are run by [`Target::exec`](super::Target::exec).

pub use witlet_plugin_sdk_base::ExecError;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its exit code.
    pub exit_code: i32,
    /// Standard output and standard error, cut at 10 KiB.
    pub output: Vec<u8>,
}
