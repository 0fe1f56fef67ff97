//! Logs: in klog's forms, filtered by klog's numbers or by `RUST_LOG`.

mod fields;
mod filter;
mod layer;
mod line;
pub(crate) mod options;
mod output;
pub(crate) mod vmodule;
mod zone;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;
use witlet_node::SystemClock;
use witlet_ports::{LogVerbosity, VerbosityError};

use filter::Filter;
use layer::Lines;
use options::LogOptions;
use output::{Output, Stream};
use vmodule::FileVerbosity;

#[cfg(test)]
mod tests;

/// Filters instead of `-v`, by the names of modules.
const FILTER_VARIABLE: &str = "RUST_LOG";

/// Replaces the filter of the running process.
type Replace = dyn Fn(Filter) -> Result<(), reload::Error> + Send + Sync;

/// What is logged, while the process runs.
pub(crate) struct RunningFilter {
    replace: Box<Replace>,
    /// Goes on, whatever the verbosity.
    vmodule: Arc<[FileVerbosity]>,
}

impl LogVerbosity for RunningFilter {
    /// Also in the place of what `RUST_LOG` said.
    fn set(&self, verbosity: u32) -> Result<(), VerbosityError> {
        let replaced = (self.replace)(Filter::of_verbosity(verbosity, self.vmodule.clone()));
        replaced.map_err(|error| VerbosityError { message: error.to_string() })
    }
}

/// Writes what is held back: now and then while something goes on, and when it is dropped.
pub(crate) struct Flushes {
    output: Arc<Output>,
    period: Duration,
}

impl Flushes {
    /// Does the work and writes out meanwhile what is held back.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        if !self.output.holds_back() {
            return work.await;
        }
        tokio::select! {
            result = work => result,
            never = output::flush_each(self.output.clone(), self.period) => match never {},
        }
    }
}

impl Drop for Flushes {
    fn drop(&mut self) {
        self.output.flush();
    }
}

/// The log of the process.
pub(crate) struct Log {
    pub(crate) filter: RunningFilter,
    /// To be kept until the end.
    pub(crate) flushes: Flushes,
}

/// Starts logging. A filter in `RUST_LOG` that can't be parsed is ignored, with a warning. The verbosity counts where it says nothing.
pub(crate) fn start(options: &LogOptions) -> Log {
    let vmodule: Arc<[FileVerbosity]> = options.vmodule.clone().into();
    let directives = std::env::var(FILTER_VARIABLE).ok().filter(|text| !text.is_empty());
    let parsed = directives.as_deref().map(EnvFilter::try_new);
    let (filter, bad) = match parsed {
        Some(Ok(directives)) => (Filter::of_directives(directives, vmodule.clone()), None),
        Some(Err(error)) => (Filter::of_verbosity(options.verbosity, vmodule.clone()), Some(error)),
        None => (Filter::of_verbosity(options.verbosity, vmodule.clone()), None),
    };
    let output = Arc::new(output_of(options));
    let (filter, handle) = reload::Layer::<Filter, _>::new(filter);
    let lines = Lines {
        format: options.format,
        contextual: options.contextual,
        output: output.clone(),
        clock: Arc::new(SystemClock),
        zone: zone::local(),
        process_id: std::process::id(),
    };
    Registry::default().with(lines).with(filter).init();
    if output.holds_back() {
        flush_on_panic(output.clone());
    }
    if let Some(error) = bad {
        tracing::warn!(
            %error,
            value = directives.unwrap_or_default(),
            "Ignored RUST_LOG: expected a filter such as info or witlet_agent=debug"
        );
    }
    let replace = Box::new(move |replacement: Filter| handle.reload(replacement));
    Log {
        filter: RunningFilter { replace, vmodule },
        flushes: Flushes { output, period: options.flush_frequency },
    }
}

fn output_of(options: &LogOptions) -> Output {
    let errors: Stream = Box::new(io::stderr());
    match options.split {
        false => Output::single(errors),
        true => Output::split(errors, standard_output(), options.info_buffer_bytes),
    }
}

/// Standard output without the buffer that Rust has before it, which would keep what can't be written.
fn standard_output() -> Stream {
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(output) => Box::new(File::from(output)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// What is held back stands before the words of a panic.
fn flush_on_panic(output: Arc<Output>) {
    let next = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        output.try_flush();
        next(panic);
    }));
}
