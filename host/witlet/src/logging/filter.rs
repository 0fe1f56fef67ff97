//! Which lines are logged: those that klog's numbers let through, or those that `RUST_LOG` names.

use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::vmodule::{FileVerbosity, verbosity_of};

/// klog's number for what no `-v` asks for.
const BEYOND: u32 = 10;

/// The module of kube that reads answers. It logs one that it can't decode whole, as a warning, that of a token or a Secret too;
/// refusals with all that they say (debug), and headers (trace). No number asks for that, only `RUST_LOG`. The fault is still
/// seen: the caller gets it as an error, which we log in our words. The module's own modules (`client::builder`, `client::tls`)
/// have no bodies to log.
const ANSWERS: &str = "kube_client::client";

/// How much of a target is logged: the numbers from which on information, details of a fault (debug) and everything (trace) are.
/// Warnings and errors always are, but those of [`ANSWERS`].
struct Scale {
    info: u32,
    debug: u32,
    trace: Option<u32>,
}

/// The agent, and what plugins write.
const OWN: Scale = Scale { info: 0, debug: 4, trace: Some(6) };
/// Requests to the API server: upstream's numbers for them begin at 6.
const API_REQUESTS: Scale = Scale { info: 0, debug: 6, trace: Some(10) };
/// Connections and the engine say much. Everything that they say may have headers with tokens in it: only `RUST_LOG` gets that.
const QUIET: Scale = Scale { info: 8, debug: 10, trace: None };
const OTHERS: Scale = Scale { info: 0, debug: 8, trace: Some(10) };

/// Scales by the beginning of the target.
const SCALES: &[(&str, Scale)] = &[
    ("witlet", OWN),
    ("plugin", OWN),
    ("kube", API_REQUESTS),
    ("h2", QUIET),
    ("hyper", QUIET),
    ("tonic", QUIET),
    ("tower", QUIET),
    ("rustls", QUIET),
    ("wasmtime", QUIET),
    ("cranelift", QUIET),
];

/// The number from which on a line is logged; none if no number asks for it.
pub(super) fn threshold(target: &str, level: Level) -> Option<u32> {
    if target == ANSWERS {
        return None;
    }
    let scale =
        SCALES.iter().find(|(begin, _)| target.starts_with(begin)).map_or(&OTHERS, |(_, scale)| scale);
    match level {
        Level::INFO => Some(scale.info),
        Level::DEBUG => Some(scale.debug),
        Level::TRACE => scale.trace,
        _ => Some(0),
    }
}

/// The number that a line is shown with.
pub(super) fn shown_verbosity(target: &str, level: Level) -> u32 {
    match level {
        Level::ERROR | Level::WARN => 0,
        level => threshold(target, level).unwrap_or(BEYOND),
    }
}

/// What is logged.
pub(super) struct Filter {
    base: Base,
    vmodule: Arc<[FileVerbosity]>,
}

enum Base {
    Verbosity(u32),
    /// `RUST_LOG`
    Directives(Box<EnvFilter>),
}

impl Filter {
    /// What `-v` and `vmodule` ask for.
    pub(super) fn of_verbosity(verbosity: u32, vmodule: Arc<[FileVerbosity]>) -> Self {
        Self { base: Base::Verbosity(verbosity), vmodule }
    }

    /// What `RUST_LOG` asks for, and `vmodule`.
    pub(super) fn of_directives(directives: EnvFilter, vmodule: Arc<[FileVerbosity]>) -> Self {
        Self { base: Base::Directives(Box::new(directives)), vmodule }
    }

    /// Whether a number lets the line through. What it depends on never changes for a place in the code, so it is asked once for
    /// each, and again after a change of the filter.
    fn is_reached(&self, metadata: &Metadata<'_>) -> bool {
        let Some(threshold) = threshold(metadata.target(), *metadata.level()) else { return false };
        let by_verbosity = matches!(self.base, Base::Verbosity(verbosity) if threshold <= verbosity);
        let of_file = || metadata.file().and_then(|file| verbosity_of(&self.vmodule, file));
        by_verbosity || of_file().is_some_and(|verbosity| threshold <= verbosity)
    }

    fn directives(&self) -> Option<&EnvFilter> {
        match &self.base {
            Base::Verbosity(_) => None,
            Base::Directives(directives) => Some(directives),
        }
    }
}

/// Directives may name fields of spans, so they see all that happens to spans.
impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Filter {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let of_directives = self.directives().map(|filter| Layer::<S>::register_callsite(filter, metadata));
        match of_directives {
            _ if self.is_reached(metadata) => Interest::always(),
            Some(interest) => interest,
            None => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
        let by_directives = self.directives().is_some_and(|filter| filter.enabled(metadata, context));
        by_directives || self.is_reached(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        if !self.vmodule.is_empty() {
            return Some(LevelFilter::TRACE);
        }
        match &self.base {
            Base::Directives(directives) => Layer::<S>::max_level_hint(&**directives),
            Base::Verbosity(verbosity) if Some(*verbosity) >= OWN.trace => Some(LevelFilter::TRACE),
            Base::Verbosity(verbosity) if *verbosity >= OWN.debug => Some(LevelFilter::DEBUG),
            Base::Verbosity(_) => Some(LevelFilter::INFO),
        }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(filter) = self.directives() {
            Layer::<S>::on_new_span(filter, attributes, id, context);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(filter) = self.directives() {
            Layer::<S>::on_record(filter, id, values, context);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(filter) = self.directives() {
            Layer::<S>::on_enter(filter, id, context);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(filter) = self.directives() {
            Layer::<S>::on_exit(filter, id, context);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(filter) = self.directives() {
            Layer::<S>::on_close(filter, id, context);
        }
    }
}
