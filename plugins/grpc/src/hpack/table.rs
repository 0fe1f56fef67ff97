//! Headers that both sides know by number (RFC 7541 section 2.3 and appendix A).

use std::collections::VecDeque;

use super::Header;

/// What a table of the other side may hold unless configured otherwise, which it isn't.
const BYTES_MAX: usize = 4 * 1024;

/// Bytes that each entry counts for in addition to its texts.
const ENTRY_BYTES: usize = 32;

/// The static table's headers.
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
    ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
    ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
    ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
    ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
    ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
    ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

/// The static table's headers, and those that the other side has sent lately.
#[derive(Debug)]
pub(super) struct Table {
    /// The newest first.
    entries: VecDeque<Header>,
    bytes: usize,
    bytes_max: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { entries: VecDeque::new(), bytes: 0, bytes_max: BYTES_MAX }
    }
}

/// What a header counts for.
pub(super) fn size((name, value): &Header) -> usize {
    name.len() + value.len() + ENTRY_BYTES
}

impl Table {
    /// The header with this number, from 1.
    pub(super) fn get(&self, index: usize) -> Option<Header> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some((name.as_bytes().to_vec(), value.as_bytes().to_vec())),
            None => self.entries.get(index - STATIC.len()).cloned(),
        }
    }

    /// Remembers a header, and forgets the oldest that no longer fit; one that is larger than the table empties it.
    pub(super) fn insert(&mut self, header: Header) {
        let bytes = size(&header);
        self.shrink(self.bytes_max.saturating_sub(bytes));
        if bytes <= self.bytes_max {
            self.bytes += bytes;
            self.entries.push_front(header);
        }
    }

    /// Whether the table may have this size; it has it then.
    pub(super) fn resize(&mut self, bytes_max: usize) -> bool {
        if bytes_max > BYTES_MAX {
            return false;
        }
        self.bytes_max = bytes_max;
        self.shrink(bytes_max);
        true
    }

    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            let Some(oldest) = self.entries.pop_back() else { break };
            self.bytes -= size(&oldest);
        }
    }
}
