//! Container logs in the CRI's format: `<time> <stream> <tag> <text>`, one line of output a line.
//!
//! The tag is `F` for a line that is complete and `P` for a piece of one that was too long
//! (Kubernetes: `kubelet/kuberuntime/logs`).

mod file;

use jiff::Timestamp;

pub(crate) use file::LogFile;

/// The longest text of one log line, as in containerd; a longer line of output is written in pieces.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024;

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Cuts one output into log lines. What comes without its line's end is kept, at most [`LINE_BYTES_MAX`] of it.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: Stream,
    pending: Vec<u8>,
}

impl Lines {
    /// With nothing kept.
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, pending: Vec::new() }
    }

    /// Takes output that was written at `now`, and appends the log lines that it completes to `out`.
    pub(crate) fn push(&mut self, mut output: &[u8], now: Timestamp, out: &mut Vec<u8>) {
        while !output.is_empty() {
            let remaining = LINE_BYTES_MAX - self.pending.len();
            let end = output.iter().take(remaining + 1).position(|byte| *byte == b'\n');
            match end {
                Some(end) => {
                    self.pending.extend_from_slice(&output[..end]);
                    self.write(b'F', now, out);
                    output = &output[end + 1..];
                }
                None if output.len() > remaining => {
                    self.pending.extend_from_slice(&output[..remaining]);
                    self.write(b'P', now, out);
                    output = &output[remaining..];
                }
                None => {
                    self.pending.extend_from_slice(output);
                    return;
                }
            }
        }
    }

    /// The output has ended: what was kept is a line of its own.
    pub(crate) fn finish(&mut self, now: Timestamp, out: &mut Vec<u8>) {
        if !self.pending.is_empty() {
            self.write(b'F', now, out);
        }
    }

    fn write(&mut self, tag: u8, now: Timestamp, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{now:.9} {} ", self.stream.name()).as_bytes());
        out.extend_from_slice(&[tag, b' ']);
        out.append(&mut self.pending);
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests;
