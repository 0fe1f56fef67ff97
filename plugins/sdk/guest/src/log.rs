//! Lines for the node's log. Each carries the plugin's name; the host bounds their length, fields and number.
//!
//! ```
//! use witlet_plugin_sdk::{facts, info, log};
//!
//! info!("checked {} containers", 2);
//! log::write(log::Level::Warn, "no registry", &[("image", "nginx")]);
//! let lines = facts::take_log();
//! assert_eq!(lines[0].message, "checked 2 containers");
//! assert_eq!(lines[1].fields, [("image".to_owned(), "nginx".to_owned())]);
//! ```

pub use witlet_plugin_sdk_base::Level;

/// Writes one line with fields for structured logs.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    #[cfg(target_family = "wasm")]
    {
        use crate::host::witlet::host::log as host;
        let level = match level {
            Level::Trace => host::Level::Trace,
            Level::Debug => host::Level::Debug,
            Level::Info => host::Level::Info,
            Level::Warn => host::Level::Warn,
            Level::Error => host::Level::Error,
        };
        host::write(level, message, &fields);
    }
    #[cfg(not(target_family = "wasm"))]
    witlet_plugin_sdk_base::facts::record_line(level, message, fields);
}

/// Logs a line at level `error`; takes what [`format!`] takes.
///
/// ```
/// # use witlet_plugin_sdk::{facts, log::Level};
/// witlet_plugin_sdk::error!("{} pods", 3);
/// let line = facts::take_log().remove(0);
/// assert_eq!((line.level, line.message.as_str()), (Level::Error, "3 pods"));
/// ```
#[macro_export]
macro_rules! error {
    ($($argument:tt)+) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($argument)+), &[]) };
}

/// Logs a line at level `warn`; takes what [`format!`] takes.
///
/// ```
/// # use witlet_plugin_sdk::{facts, log::Level};
/// witlet_plugin_sdk::warn!("{} pods", 3);
/// let line = facts::take_log().remove(0);
/// assert_eq!((line.level, line.message.as_str()), (Level::Warn, "3 pods"));
/// ```
#[macro_export]
macro_rules! warn {
    ($($argument:tt)+) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($argument)+), &[]) };
}

/// Logs a line at level `info`; takes what [`format!`] takes.
///
/// ```
/// # use witlet_plugin_sdk::{facts, log::Level};
/// witlet_plugin_sdk::info!("{} pods", 3);
/// let line = facts::take_log().remove(0);
/// assert_eq!((line.level, line.message.as_str()), (Level::Info, "3 pods"));
/// ```
#[macro_export]
macro_rules! info {
    ($($argument:tt)+) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($argument)+), &[]) };
}

/// Logs a line at level `debug`; takes what [`format!`] takes.
///
/// ```
/// # use witlet_plugin_sdk::{facts, log::Level};
/// witlet_plugin_sdk::debug!("{} pods", 3);
/// let line = facts::take_log().remove(0);
/// assert_eq!((line.level, line.message.as_str()), (Level::Debug, "3 pods"));
/// ```
#[macro_export]
macro_rules! debug {
    ($($argument:tt)+) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($argument)+), &[]) };
}
