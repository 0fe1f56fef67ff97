//! Logs: to standard error, in klog's forms, filtered by `RUST_LOG`.

mod format;
mod line;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::reload;
use witlet_ports::{LogVerbosity, VerbosityError};

use crate::cli::LogFormat;
use format::Klog;

#[cfg(test)]
mod tests;

/// What is logged unless `RUST_LOG` says otherwise.
const DEFAULT_FILTER: &str = "info,h2=warn,hyper=warn,tonic=warn,wasmtime=warn,cranelift=warn";

/// klog's numbers from which more is logged.
const DEBUG_FROM: i64 = 4;
const TRACE_FROM: i64 = 6;

/// What is logged with the kubelet's `-v`, where it asks for more than is logged anyway.
fn filter_of(verbosity: i64) -> String {
    match verbosity {
        TRACE_FROM.. => format!("{DEFAULT_FILTER},witlet=trace,kube=debug"),
        DEBUG_FROM.. => format!("{DEFAULT_FILTER},witlet=debug"),
        _ => DEFAULT_FILTER.to_owned(),
    }
}

/// Replaces the filter of the running process.
type Replace = dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync;

/// What is logged, while the process runs.
pub(crate) struct RunningFilter(Box<Replace>);

impl LogVerbosity for RunningFilter {
    /// Also in the place of what `RUST_LOG` said.
    fn set(&self, verbosity: u32) -> Result<(), VerbosityError> {
        let replaced = (self.0)(EnvFilter::new(filter_of(verbosity.into())));
        replaced.map_err(|error| VerbosityError { message: error.to_string() })
    }
}

/// Starts logging. A filter that can't be parsed is replaced by the default one, with a warning. `verbosity` counts where
/// `RUST_LOG` says nothing.
pub(crate) fn start(format: LogFormat, verbosity: i64) -> RunningFilter {
    let default = || EnvFilter::new(filter_of(verbosity));
    let (filter, bad) = match std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty()) {
        None => (default(), None),
        Some(text) => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(cause) => (default(), Some(cause.to_string())),
        },
    };
    // A log that can't be written (a full disk, a reader that is gone) is lost: to complain about it on standard error
    // as well would end the process.
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .fmt_fields(JsonFields::new())
        .event_format(Klog(format))
        .with_writer(std::io::stderr)
        .with_filter_reloading();
    let filter = subscriber.reload_handle();
    subscriber.init();
    if let Some(cause) = bad {
        tracing::warn!(
            %cause,
            value = std::env::var("RUST_LOG").unwrap_or_default(),
            "Ignored RUST_LOG: expected a filter such as info or witlet_agent=debug"
        );
    }
    RunningFilter(Box::new(move |replacement| filter.reload(replacement)))
}
