//! Logs: to standard error, filtered by `RUST_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// What is logged unless `RUST_LOG` says otherwise.
const DEFAULT_FILTER: &str = "info,h2=warn,hyper=warn,tonic=warn,wasmtime=warn,cranelift=warn";

/// Starts logging. A filter that can't be parsed is answered with the default one and a warning.
pub(crate) fn start(format: LogFormat) {
    let (filter, bad) = match std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty()) {
        None => (EnvFilter::new(DEFAULT_FILTER), None),
        Some(text) => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(cause) => (EnvFilter::new(DEFAULT_FILTER), Some(cause.to_string())),
        },
    };
    // A log that can't be written (a full disk, a reader that is gone) is lost: to complain about it on standard error
    // as well would end the process.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    if let Some(cause) = bad {
        tracing::warn!(
            %cause,
            value = std::env::var("RUST_LOG").unwrap_or_default(),
            "RUST_LOG can't be understood and is ignored; write RUST_LOG=info or RUST_LOG=witlet_agent=debug"
        );
    }
}
