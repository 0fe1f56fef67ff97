//! Termination messages: what a container leaves behind to say why it ended (`terminationMessagePath` and
//! `terminationMessagePolicy`).
//!
//! Rules and sizes: upstream's `container/runtime.go`, `kuberuntime/kuberuntime_container.go` and `normalizeStatus` of its
//! status manager. Anyone who reads file or log feeds these functions; no message is ever larger than what they allow.

use k8s_openapi::api::core::v1::Pod;

use crate::text::truncated;

/// Of the message's file only so many bytes at its end are read.
pub const FILE_BYTES_MAX: usize = 4096;
/// Where the log stands in for the file, so many bytes at its end are taken …
pub const LOG_BYTES_MAX: usize = 2048;
/// … and of those no more than so many lines.
pub const LOG_LINES_MAX: usize = 80;
/// What all messages of a pod's status take together, shared equally by its containers.
pub const POD_BYTES_MAX: usize = 12 * 1024;

/// The value of `terminationMessagePolicy` that lets the log stand in for the file.
const FALLBACK_TO_LOGS: &str = "FallbackToLogsOnError";

/// The message in the end of a container's file: the last [`FILE_BYTES_MAX`] bytes of what is given. What isn't UTF-8
/// becomes U+FFFD.
pub fn from_file(end_of_file: &[u8]) -> String {
    text_of_end(end_of_file, FILE_BYTES_MAX)
}

/// Whether the log stands in for the file: the policy allows it, the container failed, and the file has nothing.
pub fn wants_log(policy: Option<&str>, exit_code: i32, from_file: &str) -> bool {
    policy == Some(FALLBACK_TO_LOGS) && exit_code != 0 && from_file.is_empty()
}

/// The message in the end of a container's log, given as the container wrote it (without the CRI's time and stream):
/// the last [`LOG_LINES_MAX`] lines, and of them the last [`LOG_BYTES_MAX`] bytes.
pub fn from_log(end_of_log: &[u8]) -> String {
    let without_last_end = end_of_log.strip_suffix(b"\n").unwrap_or(end_of_log);
    let ends = without_last_end.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let start = ends.map(|(at, _)| at + 1).nth(LOG_LINES_MAX - 1).unwrap_or_default();
    text_of_end(&end_of_log[start..], LOG_BYTES_MAX)
}

/// How many bytes a message may take in the status of this pod.
pub fn share_bytes(pod: &Pod) -> usize {
    let containers = pod
        .spec
        .as_ref()
        .map_or(0, |spec| spec.containers.len() + spec.init_containers.as_ref().map_or(0, Vec::len));
    POD_BYTES_MAX / containers.max(1)
}

/// Returns what the status says of an end: the runtime's words, then the container's, cut to `bytes_max`. None if neither says
/// anything.
pub(super) fn combined(runtime: &str, container: Option<&str>, bytes_max: usize) -> Option<String> {
    let parts = [Some(runtime), container].into_iter().flatten().filter(|part| !part.is_empty());
    let text = truncated(parts.collect::<Vec<_>>().join(": "), bytes_max);
    (!text.is_empty()).then_some(text)
}

/// The last bytes as text that is no longer than they may be.
fn text_of_end(bytes: &[u8], bytes_max: usize) -> String {
    let end = &bytes[bytes.len().saturating_sub(bytes_max)..];
    let mut text = String::from_utf8_lossy(end).into_owned();
    // Replacement characters are longer than the bytes that they stand for.
    let excess = text.len().saturating_sub(bytes_max);
    text.drain(..text.ceil_char_boundary(excess));
    text
}

#[cfg(test)]
mod tests;
