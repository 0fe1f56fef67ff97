//! The log: `logging`, in the words of upstream's validation (`component-base/logs/api/v1/options.go`).

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;
use witlet_core::error::aggregate;
use witlet_core::pod::quantity;
use witlet_core::{duration, go};

use crate::cli::LogFormat;
use crate::kubelet::effective_config::{FilePattern, Logging, OutputRouting, Period};
use crate::kubelet::gates;
use crate::logging::options::{FLUSH_FREQUENCY, LogOptions};
use crate::logging::vmodule::{FileVerbosity, VERBOSITY_MAX};

#[cfg(test)]
mod tests;

/// The gates of options, by how far they are.
const ALPHA: &str = "LoggingAlphaOptions";
const BETA: &str = "LoggingBetaOptions";

/// Whether lines have the fields of what goes on around them.
const CONTEXTUAL: &str = "ContextualLogging";

/// The largest buffer, as upstream.
const BUFFER_BYTES_MAX: i64 = 2 << 30;

/// Why there can't be a log like this.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("initialize logging: {}", aggregate(problems.iter().cloned()))]
pub(crate) struct LoggingError {
    /// All that is wrong, in upstream's order.
    problems: Vec<String>,
}

/// Returns what the configuration comes to. A flush frequency of zero is the default, unless a flag says so.
pub(super) fn options(
    logging: &Logging,
    flush_by_flag: bool,
    feature_gates: &BTreeMap<String, bool>,
) -> Result<LogOptions, LoggingError> {
    let is_on = |gate| gates::is_enabled(feature_gates, gate);
    let mut problems = Vec::new();
    let flush_frequency = flush_frequency(logging.flush_frequency.as_ref(), flush_by_flag, &mut problems);
    let name = logging.format.as_deref().unwrap_or("text");
    let format = match name {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    };
    if !matches!(name, "text" | "json") {
        problems.push(format!("logging.format: Invalid value: {}: Unsupported log format", go::quote(name)));
    } else if format == LogFormat::Json && !is_on(BETA) {
        problems.push(format!("logging.format: Forbidden: Log format json is disabled, see {BETA} feature"));
    }
    check_verbosity("logging.verbosity", logging.verbosity, &mut problems);
    if !logging.vmodule.is_empty() && name != "text" {
        problems.push("logging.vmodule: Forbidden: Only supported for text log format".to_owned());
    }
    let vmodule = vmodule(&logging.vmodule, &mut problems);
    let formats = &logging.options;
    let routings = [("text", &formats.text), ("json", &formats.json)];
    let [text_bytes, json_bytes] =
        routings.map(|(of, routing)| buffer(of, routing, is_on(ALPHA), &mut problems));
    if !problems.is_empty() {
        return Err(LoggingError { problems });
    }
    let (routing, info_buffer_bytes) = match format {
        LogFormat::Text => (&formats.text, text_bytes),
        LogFormat::Json => (&formats.json, json_bytes),
    };
    Ok(LogOptions {
        format,
        verbosity: logging.verbosity,
        vmodule,
        split: routing.split_stream,
        info_buffer_bytes,
        flush_frequency,
        contextual: is_on(CONTEXTUAL),
    })
}

fn flush_frequency(given: Option<&Period>, by_flag: bool, problems: &mut Vec<String>) -> Duration {
    let (nanoseconds, shown) = match given {
        None => return FLUSH_FREQUENCY,
        Some(Period::Nanoseconds(nanoseconds)) => (*nanoseconds, nanoseconds.to_string()),
        Some(Period::Text(text)) => {
            // Checked where it was read.
            let nanoseconds = duration::nanoseconds(text).unwrap_or_default();
            (nanoseconds, go::quote(&go::duration(nanoseconds)))
        }
    };
    match u64::try_from(nanoseconds) {
        Ok(0) if !by_flag => FLUSH_FREQUENCY,
        Ok(nanoseconds) if nanoseconds > 0 => Duration::from_nanos(nanoseconds),
        _ => {
            problems
                .push(format!("logging.flushFrequency: Invalid value: {shown}: Must be greater than zero"));
            FLUSH_FREQUENCY
        }
    }
}

fn check_verbosity(path: &str, verbosity: u32, problems: &mut Vec<String>) {
    if verbosity > VERBOSITY_MAX {
        problems.push(format!("{path}: Invalid value: {verbosity}: Must be <= {VERBOSITY_MAX}"));
    }
}

fn vmodule(files: &[FilePattern], problems: &mut Vec<String>) -> Vec<FileVerbosity> {
    let mut vmodule = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let path = format!("logging.vmodule[{index}]");
        let pattern = file.file_pattern.clone().unwrap_or_default();
        let verbosity = file.verbosity.unwrap_or_default();
        if pattern.is_empty() {
            problems.push(format!("{path}: Required value: File pattern must not be empty"));
        }
        if pattern.contains(['=', ',']) {
            let value = go::quote(&pattern);
            problems.push(format!(
                "{path}: Invalid value: {value}: File pattern must not contain equal sign or comma"
            ));
        }
        check_verbosity(&path, verbosity, problems);
        vmodule.push(FileVerbosity::new(pattern, verbosity));
    }
    vmodule
}

/// How many bytes of information are held back in this format.
fn buffer(format: &str, routing: &OutputRouting, is_on: bool, problems: &mut Vec<String>) -> usize {
    // Checked where it was read.
    let bytes = routing.info_buffer_size.as_ref().and_then(|size| quantity::value(size).ok()).unwrap_or(0);
    let mut forbid = |option: &str| {
        problems.push(format!("logging.options.{format}.{option}: Forbidden: Feature {ALPHA} is disabled"));
    };
    if routing.split_stream && !is_on {
        forbid("splitStream");
    }
    if bytes != 0 && !is_on {
        forbid("infoBufferSize");
    }
    usize::try_from(bytes.clamp(0, BUFFER_BYTES_MAX)).unwrap_or(usize::MAX)
}
