//! Calls of plugins, written down so that they can be asked again: what was asked, what came back, how long it took.
//!
//! An entry's `record: {max: N}` turns it on, for all calls or for those that meet a trigger (`on`). Callers of plugins hold a [`PluginRecorder`] or none: without one nothing
//! happens, with one a call hands what it holds already to a writer next to it, and never waits. What the writer can't
//! keep up with is counted and left out.
//!
//! Values of secrets are never written: wherever one would stand there is its name.

mod format;
pub mod replay;
mod scrub;
mod trigger;
mod writer;

#[cfg(test)]
mod tests;

pub use format::{
    API_VERSION, ExecRecord, KIND, Limits, PodRecord, RecordedCall, RecordedPollRequest,
    RecordedProbeRequest, RecordedRequest, RecordedRequestError, RecordedResponse, RequestRecord,
};
pub use trigger::{RecordTrigger, Recording};
pub(crate) use writer::{About, PluginRecorder};
pub use writer::{
    FOLDER_BYTES_MAX, QUEUE_MAX, RECORD_BYTES_MAX, RECORDS_MAX, RecordError, Recorder, RecorderConfig, read,
};
