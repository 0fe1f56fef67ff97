//! The plugin's own configuration in a component.

use std::any::TypeId;
use std::cell::OnceCell;
use std::thread::LocalKey;

use serde::de::DeserializeOwned;
use witlet_plugin_sdk_base::{describe, parse};

use crate::Error;

/// Works with the host's configuration, decoded once per instance: an instance never sees another one, for a changed
/// configuration is a new load of the plugin. Errors are reported in one line.
pub fn with_config<C, T>(
    config: &'static LocalKey<OnceCell<C>>,
    work: impl FnOnce(&C) -> Result<T, Error>,
) -> Result<T, String>
where
    C: DeserializeOwned + 'static,
{
    config.with(|cell| {
        let config = match cell.get() {
            Some(config) => config,
            None => {
                let config = parse(&host_config::<C>()).map_err(|error| describe(&error))?;
                cell.get_or_init(|| config)
            }
        };
        work(config).map_err(|error| describe(&error))
    })
}

/// What the host has for a type of configuration. A plugin that takes none was refused one when it was loaded, and doesn't
/// ask.
fn host_config<C: 'static>() -> String {
    if TypeId::of::<C>() == TypeId::of::<()>() {
        "null".to_owned()
    } else {
        crate::host::witlet::host::config::get()
    }
}
