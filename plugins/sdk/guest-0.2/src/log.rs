//! Lines for the node's log. Each carries the plugin's name; the host bounds their length, fields and number.
//!
//! ```
//! use witlet_plugin_sdk_0_2::{facts, info, log};
//!
//! info!("checked {} containers", 2);
//! log::write(log::Level::Warn, "no registry", &[("image", "nginx")]);
//! let lines = facts::take_log();
//! assert_eq!(lines[0].message, "checked 2 containers");
//! assert_eq!(lines[1].fields, [("image".to_owned(), "nginx".to_owned())]);
//! ```

pub use witlet_plugin_sdk_base::Level;

#[cfg(target_family = "wasm")]
use crate::bindings::witlet::host::log as host;

/// The contract's word for a level.
#[cfg(target_family = "wasm")]
fn of_host(level: Level) -> host::Level {
    match level {
        Level::Trace => host::Level::Trace,
        Level::Debug => host::Level::Debug,
        Level::Info => host::Level::Info,
        Level::Warn => host::Level::Warn,
        Level::Error => host::Level::Error,
    }
}

/// Whether a line of this level would be written; outside a component all are. Decide nothing else by it: the node's operator
/// changes levels at any time.
pub fn enabled(level: Level) -> bool {
    #[cfg(target_family = "wasm")]
    return host::enabled(of_host(level));
    #[cfg(not(target_family = "wasm"))]
    {
        let _ = level;
        true
    }
}

/// Writes one line with fields for structured logs.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    #[cfg(target_family = "wasm")]
    {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        host::write(of_host(level), message, &fields.iter().map(owned).collect::<Vec<_>>());
    }
    #[cfg(not(target_family = "wasm"))]
    {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        witlet_plugin_sdk_base::facts::record_line(level, message, fields.iter().map(owned).collect());
    }
}

/// Logs a line if its level is enabled.
#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $($argument:tt)+) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write($crate::log::Level::$level, &::std::format!($($argument)+), &[]);
        }
    };
}

/// Logs a line at level `error`; takes what [`format!`] takes.
#[macro_export]
macro_rules! error {
    ($($argument:tt)+) => { $crate::__log!(Error, $($argument)+) };
}

/// Logs a line at level `warn`; takes what [`format!`] takes.
#[macro_export]
macro_rules! warn {
    ($($argument:tt)+) => { $crate::__log!(Warn, $($argument)+) };
}

/// Logs a line at level `info`; takes what [`format!`] takes.
#[macro_export]
macro_rules! info {
    ($($argument:tt)+) => { $crate::__log!(Info, $($argument)+) };
}

/// Logs a line at level `debug`; takes what [`format!`] takes.
#[macro_export]
macro_rules! debug {
    ($($argument:tt)+) => { $crate::__log!(Debug, $($argument)+) };
}
