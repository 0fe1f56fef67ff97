//! One call over HTTP/2 as bytes that go out and bytes that come in: no IO here. Flow control needs no frames of ours,
//! for an answer that would use a window up is too large anyway.

use percent_encoding::percent_decode_str;

use crate::frame::{self, Head};
use crate::hpack::{self, Decoder, Header};
use crate::message;
use crate::status::{INTERNAL, Status, UNKNOWN, is_grpc};
use witlet_http_target::USER_AGENT;

/// What a client says first (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The one stream.
const STREAM: u32 = 1;

/// `SETTINGS_ENABLE_PUSH`: 0: the server sends no more than the answer.
const NO_PUSH: [u8; 6] = [0, 2, 0, 0, 0, 0];

/// `SETTINGS_MAX_HEADER_LIST_SIZE`
const HEADER_BYTES: [u8; 6] = [0, 6, 0, 0, 0x40, 0];

/// Bytes of an answer, its padding counted; a health check's has two.
const ANSWER_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a block of headers before it is decoded.
const BLOCK_BYTES_MAX: usize = 16 * 1024;

/// Bytes of all that comes until the answer is there.
const RECEIVED_BYTES_MAX: usize = 256 * 1024;

/// In so many parts it comes: a server can't have the component compute for longer than it may.
const PARTS_MAX: usize = 1_000;

/// So much is reported of what a server says when it goes away.
const DEBUG_CHARS_MAX: usize = 100;

/// One call.
#[derive(Debug)]
pub(crate) struct Exchange {
    output: Vec<u8>,
    input: Vec<u8>,
    received: usize,
    parts: usize,
    /// The server has begun, with its settings.
    begun: bool,
    decoder: Decoder,
    /// A block of headers that isn't whole, and whether the stream ends with it.
    block: Option<(Vec<u8>, bool)>,
    /// The answer's headers have come.
    answered: bool,
    answer: Vec<u8>,
    answer_bytes: usize,
    /// Why the server goes away, if it does.
    goaway: Option<String>,
}

impl Exchange {
    /// A check of a service's health; empty for the server as a whole. The request waits to be taken.
    pub(crate) fn new(authority: &str, service: &str) -> Self {
        let mut output = PREFACE.to_vec();
        frame::write(&mut output, frame::SETTINGS, 0, 0, &[NO_PUSH, HEADER_BYTES].concat());
        let mut headers = Vec::new();
        for (name, value) in [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/grpc.health.v1.Health/Check"),
            (":authority", authority),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            ("user-agent", USER_AGENT),
        ] {
            hpack::write(&mut headers, name, value);
        }
        frame::write(&mut output, frame::HEADERS, frame::END_HEADERS, STREAM, &headers);
        frame::write(&mut output, frame::DATA, frame::END_STREAM, STREAM, &message::request(service));
        Self {
            output,
            input: Vec::new(),
            received: 0,
            parts: 0,
            begun: false,
            decoder: Decoder::default(),
            block: None,
            answered: false,
            answer: Vec::new(),
            answer_bytes: 0,
            goaway: None,
        }
    }

    /// What is to be sent now.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// What a server that closes the connection now leaves.
    pub(crate) fn cut_off(&self) -> Status {
        Status::broken(self.goaway.as_deref().unwrap_or("error reading server preface or answer: EOF"))
    }

    /// Takes what has come. The status that the server answers, once it is there.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<Option<u64>, Status> {
        self.received += bytes.len();
        self.parts += 1;
        if self.received > RECEIVED_BYTES_MAX || self.parts > PARTS_MAX {
            return Err(Status::new(INTERNAL, "malformed answer"));
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        let mut rest = &input[..];
        while let Some(head) = Head::read(rest) {
            if head.payload_bytes > frame::PAYLOAD_BYTES_MAX {
                return Err(Status::broken("frame too large"));
            }
            let Some(payload) = rest.get(frame::HEAD_BYTES..frame::HEAD_BYTES + head.payload_bytes) else {
                break;
            };
            if let Some(status) = self.frame(head, payload)? {
                return Ok(Some(status));
            }
            rest = &rest[frame::HEAD_BYTES + head.payload_bytes..];
        }
        let done = input.len() - rest.len();
        input.drain(..done);
        self.input = input;
        Ok(None)
    }

    fn frame(&mut self, head: Head, payload: &[u8]) -> Result<Option<u64>, Status> {
        let protocol_error = || Err(Status::broken("PROTOCOL_ERROR"));
        if !self.begun && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            return Err(Status::broken("error reading server preface: no settings"));
        }
        if self.block.is_some() && (head.kind != frame::CONTINUATION || head.stream != STREAM) {
            return protocol_error();
        }
        match head.kind {
            frame::SETTINGS => {
                if head.stream != 0
                    || !payload.len().is_multiple_of(6)
                    || (head.has(frame::ACK) && !payload.is_empty())
                {
                    return protocol_error();
                }
                self.begun = true;
                if !head.has(frame::ACK) {
                    frame::write(&mut self.output, frame::SETTINGS, frame::ACK, 0, &[]);
                }
            }
            frame::PING => {
                if head.stream != 0 || payload.len() != 8 {
                    return protocol_error();
                }
                if !head.has(frame::ACK) {
                    frame::write(&mut self.output, frame::PING, frame::ACK, 0, payload);
                }
            }
            frame::GOAWAY => return self.goes_away(payload).map(|()| None),
            frame::RST_STREAM if head.stream == STREAM => {
                let code = payload.first_chunk().map_or(0, |code| u32::from_be_bytes(*code));
                return Err(Status::broken(&format!(
                    "stream terminated by RST_STREAM: {}",
                    error_name(code)
                )));
            }
            frame::HEADERS if head.stream == STREAM => {
                let Some(fragment) = frame::unpadded(head, payload) else { return protocol_error() };
                let skipped = if head.has(frame::PRIORITY) { 5 } else { 0 };
                let Some(fragment) = fragment.get(skipped..) else { return protocol_error() };
                self.block = Some((Vec::new(), head.has(frame::END_STREAM)));
                return self.fragment(head, fragment);
            }
            frame::CONTINUATION => return self.fragment(head, payload),
            frame::DATA if head.stream == STREAM => return self.data(head, payload),
            frame::PUSH_PROMISE | frame::HEADERS | frame::DATA => return protocol_error(),
            // Windows, priorities and what the future brings.
            _ => {}
        }
        Ok(None)
    }

    /// A part of a block of headers.
    fn fragment(&mut self, head: Head, fragment: &[u8]) -> Result<Option<u64>, Status> {
        let Some((block, _)) = &mut self.block else { return Err(Status::broken("PROTOCOL_ERROR")) };
        if block.len() + fragment.len() > BLOCK_BYTES_MAX {
            return Err(Status::broken("header list too large"));
        }
        block.extend_from_slice(fragment);
        if !head.has(frame::END_HEADERS) {
            return Ok(None);
        }
        let Some((block, ends)) = self.block.take() else { return Ok(None) };
        let headers = self.decoder.decode(&block).map_err(|_| Status::broken("COMPRESSION_ERROR"))?;
        if self.answered {
            return if ends {
                self.trailers(&headers).map(Some)
            } else {
                Err(Status::broken("PROTOCOL_ERROR"))
            };
        }
        self.headers(&headers, ends)
    }

    /// The first headers: of an interim answer, of an answer, or of one that is all trailers.
    fn headers(&mut self, headers: &[Header], ends: bool) -> Result<Option<u64>, Status> {
        let status = text(headers, ":status").unwrap_or_default();
        if status.len() == 3 && status.starts_with('1') {
            return if ends { Err(Status::broken("PROTOCOL_ERROR")) } else { Ok(None) };
        }
        let content_type = text(headers, "content-type");
        if status != "200" || !content_type.as_deref().is_some_and(is_grpc) {
            return Err(Status::of_http(&status, content_type.as_deref()));
        }
        self.answered = true;
        if ends { self.trailers(headers).map(Some) } else { Ok(None) }
    }

    /// The last headers, which say how the call ended.
    fn trailers(&self, headers: &[Header]) -> Result<u64, Status> {
        // A status that is missing or no number is one that isn't known.
        let code = text(headers, "grpc-status").and_then(|code| code.parse().ok()).unwrap_or(UNKNOWN);
        if code != 0 {
            let message = text(headers, "grpc-message").unwrap_or_default();
            return Err(Status::new(code, percent_decode_str(&message).decode_utf8_lossy()));
        }
        message::status(&self.answer).ok_or_else(|| Status::new(INTERNAL, "malformed answer"))
    }

    fn data(&mut self, head: Head, payload: &[u8]) -> Result<Option<u64>, Status> {
        let Some(data) = frame::unpadded(head, payload).filter(|_| self.answered) else {
            return Err(Status::broken("PROTOCOL_ERROR"));
        };
        self.answer_bytes += payload.len();
        if self.answer_bytes > ANSWER_BYTES_MAX {
            return Err(Status::new(INTERNAL, "malformed answer"));
        }
        self.answer.extend_from_slice(data);
        if head.has(frame::END_STREAM) {
            return Err(Status::new(INTERNAL, "server closed the stream without sending trailers"));
        }
        Ok(None)
    }

    /// The server takes no more streams; if ours is among those that it has taken, its answer may still come.
    fn goes_away(&mut self, payload: &[u8]) -> Result<(), Status> {
        let Some([last @ .., a, b, c, d]) = payload.first_chunk::<8>() else {
            return Err(Status::broken("PROTOCOL_ERROR"));
        };
        let code = error_name(u32::from_be_bytes([*a, *b, *c, *d]));
        let debug = payload.get(8..).unwrap_or_default();
        let debug: String = String::from_utf8_lossy(debug).chars().take(DEBUG_CHARS_MAX).collect();
        let words = format!("the server goes away: {code} {debug:?}");
        if u32::from_be_bytes(*last) & (u32::MAX >> 1) < STREAM {
            return Err(Status::broken(&words));
        }
        self.goaway = Some(words);
        Ok(())
    }
}

/// The first value of a header.
fn text(headers: &[Header], name: &str) -> Option<String> {
    let found = headers.iter().find(|(known, _)| known == name.as_bytes());
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// An error by its name (RFC 9113 section 7).
fn error_name(code: u32) -> String {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    let name = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
    name.map_or_else(|| code.to_string(), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests;
