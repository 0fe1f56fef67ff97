//! Logs: to standard error, filtered by `RUST_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

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

/// Starts logging. A filter that can't be parsed is answered with the default one and a warning. `verbosity` counts where
/// `RUST_LOG` says nothing.
pub(crate) fn start(format: LogFormat, verbosity: i64) {
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

#[cfg(test)]
mod tests {
    //! klog's numbers as filters.

    use super::*;

    #[test]
    fn verbosity_asks_for_more_from_4_on() {
        for (verbosity, more) in [(-1, ""), (0, ""), (3, ""), (4, ",witlet=debug"), (5, ",witlet=debug")] {
            assert_eq!(filter_of(verbosity), format!("{DEFAULT_FILTER}{more}"), "{verbosity}");
        }
        assert!(filter_of(10).ends_with(",witlet=trace,kube=debug"));
        EnvFilter::try_new(filter_of(10)).expect("a filter");
    }
}
