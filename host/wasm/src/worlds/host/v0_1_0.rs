//! `witlet:host@0.1.0`.

use tracing::Level;
use wasmtime::component::{HasData, Linker};

use super::HostView;
use crate::guest::log::Line;
use crate::guest::secrets::NoSecret;
use bindings::witlet::host::{config, log, secret};

pub(crate) mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: "../../wit/host",
        inline: "package witlet:adapter;
            world host {
                import witlet:host/log@0.1.0;
                import witlet:host/config@0.1.0;
                import witlet:host/secret@0.1.0;
            }",
        world: "witlet:adapter/host",
        imports: { default: trappable },
    });
}

struct HostData;

impl HasData for HostData {
    type Data<'a> = HostView<'a>;
}

/// Adds all interfaces. That a component may have what it imports is found out before.
pub(crate) fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> HostView<'_>,
) -> wasmtime::Result<()> {
    log::add_to_linker::<T, HostData>(linker, view)?;
    config::add_to_linker::<T, HostData>(linker, view)?;
    secret::add_to_linker::<T, HostData>(linker, view)
}

impl log::Host for HostView<'_> {
    fn write(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => Level::TRACE,
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.log.write(Line { level, message, fields });
        Ok(())
    }
}

impl config::Host for HostView<'_> {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.to_owned())
    }
}

impl secret::Host for HostView<'_> {
    fn get(&mut self, name: String) -> wasmtime::Result<Result<Vec<u8>, secret::SecretError>> {
        Ok(self.secrets.get(&name).map(|value| value.to_vec()).map_err(|error| match error {
            NoSecret::NotGranted => secret::SecretError::NotGranted,
            NoSecret::NotFound => secret::SecretError::NotFound,
        }))
    }
}
