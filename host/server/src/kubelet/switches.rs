//! Endpoints that are switched off, and what they answer.

use axum::response::Response;

use super::access::ServerPort;
use super::route::{self, Route, WithoutDebugging};
use super::{ServerOptions, answers};

#[cfg(test)]
mod tests;

/// What endpoints for debugging answer where there are none.
const DEBUGGING_DISABLED: &str = "Debug endpoints are disabled.";

/// Endpoints that an operator switches on and off one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointSwitches {
    /// Feature gate `ComponentFlagz`: `/flagz`.
    pub flagz: bool,
    /// Feature gate `ComponentStatusz`: `/statusz`.
    pub statusz: bool,
    /// `enableDebugFlagsHandler`: `/debug/flags/v`.
    pub debug_flags: bool,
    /// `enableSystemLogHandler`: `/logs/`.
    pub system_logs: bool,
    /// `enableSystemLogQuery`: queries of `/logs/`; off by default.
    pub system_log_query: bool,
    /// `enableProfilingHandler`: `/debug/pprof/`.
    pub profiling: bool,
    /// Feature gate `ContainerCheckpoint`: `/checkpoint/`.
    pub checkpoint: bool,
}

impl Default for EndpointSwitches {
    fn default() -> Self {
        Self {
            flagz: true,
            statusz: true,
            debug_flags: true,
            system_logs: true,
            system_log_query: false,
            profiling: true,
            checkpoint: true,
        }
    }
}

/// The answer to a path that leads nowhere.
pub(super) fn unknown(options: &ServerOptions, port: &ServerPort, path: &str) -> Response {
    let debugging = match port {
        ServerPort::Healthz => return answers::not_found(),
        ServerPort::ReadOnly => false,
        ServerPort::Guarded(_) => options.debugging_handlers,
    };
    match route::service(path) {
        None => answers::not_found(),
        Some(WithoutDebugging::Served) => answers::no_route(),
        Some(WithoutDebugging::Refused) if !debugging => answers::disabled(DEBUGGING_DISABLED),
        Some(WithoutDebugging::Absent) if !debugging || !options.switches.checkpoint => answers::not_found(),
        Some(WithoutDebugging::Refused | WithoutDebugging::Absent) => answers::no_route(),
    }
}

/// The answer of an endpoint that this port doesn't have, or that is off; none if it is served.
pub(super) fn refusal(options: &ServerOptions, port: &ServerPort, route: &Route<'_>) -> Option<Response> {
    let without_debugging = match port {
        // Upstream's plain port has no debugging handlers, whatever the configuration says.
        ServerPort::ReadOnly => true,
        ServerPort::Healthz if !port.serves(route) => return Some(answers::not_found()),
        ServerPort::Guarded(_) | ServerPort::Healthz => !options.debugging_handlers,
    };
    if without_debugging {
        match route.without_debugging() {
            WithoutDebugging::Refused => return Some(answers::disabled(DEBUGGING_DISABLED)),
            WithoutDebugging::Absent => return Some(answers::not_found()),
            WithoutDebugging::Served => {}
        }
    }
    if !port.serves(route) {
        return Some(answers::not_found());
    }
    let switches = &options.switches;
    match route {
        Route::Flagz if !switches.flagz => Some(answers::not_found()),
        Route::Statusz if !switches.statusz => Some(answers::not_found()),
        Route::Checkpoint(_) if !switches.checkpoint => Some(answers::not_found()),
        Route::Profiles(_) if !switches.profiling => {
            Some(answers::disabled("profiling endpoint is disabled."))
        }
        Route::DebugFlags if !switches.debug_flags => Some(answers::disabled("flags endpoint is disabled.")),
        Route::Logs(_) if !switches.system_logs => Some(answers::disabled("logs endpoint is disabled.")),
        _ => None,
    }
}
