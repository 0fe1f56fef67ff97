//! A connection on which each command is answered by one line.

use std::fmt;

use witlet_plugin_sdk::net::{self, TcpStream};
use witlet_plugin_sdk::time::Deadline;

/// The most bytes of a line, its end among them.
const LINE_BYTES_MAX: usize = 1024;

/// What ends a line.
const LINE_END: &[u8] = b"\r\n";

/// A line of the server's, by its first byte (RESP).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// `+…`, without the sign.
    Status(String),
    /// `-…`, without the sign.
    Error(String),
    /// Anything else, as it came.
    Other(String),
}

impl Reply {
    fn of(line: &[u8]) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match line {
            [b'+', word @ ..] => Self::Status(text(word)),
            [b'-', words @ ..] => Self::Error(text(words)),
            _ => Self::Other(text(line)),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The connection fails, or takes too long.
    Net(net::Error),
    /// The server closes it before the line's end.
    Closed,
    /// The line goes on and on.
    TooLong,
}

impl From<net::Error> for Trouble {
    fn from(error: net::Error) -> Self {
        Self::Net(error)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(error) => error.fmt(f),
            Self::Closed => f.write_str("the server closed the connection before it answered"),
            Self::TooLong => write!(f, "the answer is longer than {LINE_BYTES_MAX} bytes"),
        }
    }
}

/// A connection with a deadline for all that happens on it.
pub(crate) struct Connection {
    stream: TcpStream,
    deadline: Deadline,
    /// Read, and not yet part of an answer.
    read: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(host: &str, port: u16, deadline: Deadline) -> Result<Self, Trouble> {
        Ok(Self { stream: TcpStream::connect(host, port, deadline)?, deadline, read: Vec::new() })
    }

    /// Sends a command and waits for its line.
    pub(crate) fn ask(&mut self, command: &[u8]) -> Result<Reply, Trouble> {
        self.stream.write_all(command, self.deadline)?;
        loop {
            let end = self.read.windows(LINE_END.len()).position(|bytes| bytes == LINE_END);
            if let Some(end) = end {
                let rest = self.read.split_off(end + LINE_END.len());
                let line = std::mem::replace(&mut self.read, rest);
                return Ok(Reply::of(&line[..end]));
            }
            if self.read.len() >= LINE_BYTES_MAX {
                return Err(Trouble::TooLong);
            }
            let more = self.stream.read(LINE_BYTES_MAX - self.read.len(), self.deadline)?;
            if more.is_empty() {
                return Err(Trouble::Closed);
            }
            self.read.extend(more);
        }
    }
}
