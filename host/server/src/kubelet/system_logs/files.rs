//! Files and folders below `/logs/`, as Go's `http.FileServer` serves them.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use futures::stream;
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use witlet_ports::{Links, SystemLog, SystemLogEntry, SystemLogs};

use super::super::answers;

#[cfg(test)]
mod tests;

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// Bytes at the beginning of a file that say whether it is text.
const SNIFFED_BYTES: u64 = 512;

/// What a folder is served as, if it has it.
const INDEX: &str = "index.html";

/// Signs of a name that mean themselves in a link.
const UNESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A request for a file or a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileRequest<'a> {
    /// Below the folder of logs, without any part that leads up.
    path: PathBuf,
    /// The last part as it came.
    last: &'a str,
    has_slash: bool,
    query: Option<&'a str>,
}

impl<'a> FileRequest<'a> {
    /// Of a path as it came, encoded; none if it leads nowhere below the folder.
    pub(super) fn new(encoded: &'a str, query: Option<&'a str>) -> Option<Self> {
        let decoded = percent_decode_str(encoded).decode_utf8().ok()?;
        if decoded.contains('\0') {
            return None;
        }
        let mut path = PathBuf::new();
        for part in Path::new(&*decoded).components() {
            match part {
                Component::Normal(part) => path.push(part),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => return None,
            }
        }
        let last = encoded.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        Some(Self { path, last, has_slash: decoded.ends_with('/'), query })
    }

    pub(super) async fn answer(
        &self,
        logs: &dyn SystemLogs,
        headers: &HeaderMap,
        permit: OwnedSemaphorePermit,
        stop: CancellationToken,
    ) -> Response {
        if self.path.file_name().is_some_and(|name| name == INDEX) && !self.has_slash {
            return self.moved("./");
        }
        match logs.open(&self.path, Links::Anywhere).await {
            Ok(SystemLog::File(_)) if self.has_slash => self.moved(&format!("../{}", self.last)),
            Ok(SystemLog::File(file)) => show(file, headers, permit, stop).await,
            // The folder of logs itself has no name here.
            Ok(SystemLog::Folder { .. }) if !self.has_slash && self.last.is_empty() => self.moved("logs/"),
            Ok(SystemLog::Folder { .. }) if !self.has_slash => self.moved(&format!("{}/", self.last)),
            Ok(SystemLog::Folder { entries, is_cut }) => {
                match logs.open(&self.path.join(INDEX), Links::Anywhere).await {
                    Ok(SystemLog::File(file)) => show(file, headers, permit, stop).await,
                    Ok(SystemLog::Folder { .. }) | Err(_) => listing(&entries, is_cut),
                }
            }
            Err(error) => refused(&error.cause),
        }
    }

    /// Redirects (301) to a relative path, keeping the query.
    fn moved(&self, to: &str) -> Response {
        let to = self.query.map_or_else(|| to.to_owned(), |query| format!("{to}?{query}"));
        match HeaderValue::from_str(&to) {
            Ok(to) => (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, to)]).into_response(),
            Err(_) => answers::not_found(),
        }
    }
}

/// Whether a file isn't there, and nothing else is wrong.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn refused(error: &io::Error) -> Response {
    match error.kind() {
        io::ErrorKind::PermissionDenied => answers::error(StatusCode::FORBIDDEN, "403 Forbidden"),
        // A pipe or a device isn't a log.
        io::ErrorKind::InvalidInput => answers::not_found(),
        _ if is_missing(error) => answers::not_found(),
        _ => answers::error(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error"),
    }
}

/// A folder's entries as links.
pub(super) fn listing(entries: &[SystemLogEntry], is_cut: bool) -> Response {
    let begin = "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n";
    let mut page = begin.to_owned();
    for entry in entries {
        let slash = if entry.is_folder { "/" } else { "" };
        let link = utf8_percent_encode(&entry.name, UNESCAPED);
        // Writing to a text can't fail.
        let _ = writeln!(page, "<a href=\"{link}{slash}\">{}{slash}</a>", escaped(&entry.name));
    }
    if is_cut {
        page += "and more, which are not shown\n";
    }
    page += "</pre>\n";
    Html(page).into_response()
}

fn escaped(name: &str) -> String {
    name.chars().fold(String::new(), |mut text, char| {
        match char {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&#34;"),
            '\'' => text.push_str("&#39;"),
            char => text.push(char),
        }
        text
    })
}

/// What of a file is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    Whole,
    /// From the first byte until before the second.
    Part(u64, u64),
    Unsatisfiable,
    Malformed,
}

/// What a `Range` header asks of a file of this length. Several ranges are answered with the whole file; and so is any range of an empty
/// one, for clients that send one with each request.
fn range(header: Option<&str>, length: u64) -> Range {
    let Some(header) = header else { return Range::Whole };
    let Some(ranges) = header.strip_prefix("bytes=") else { return Range::Malformed };
    if ranges.contains(',') || ranges.trim().is_empty() {
        return Range::Whole;
    }
    let number =
        |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let part = match ranges.trim().split_once('-') {
        Some(("", last)) => number(last).map(|last| (length.saturating_sub(last), length)),
        Some((first, "")) => number(first).map(|first| (first, length)),
        Some((first, last)) => number(first)
            .zip(number(last))
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| (first, last.saturating_add(1).min(length))),
        None => None,
    };
    match part {
        None => Range::Malformed,
        Some((first, end)) if first < end => Range::Part(first, end),
        Some(_) if length == 0 => Range::Whole,
        Some(_) => Range::Unsatisfiable,
    }
}

/// A file, or a range of it, as it is now.
pub(super) async fn show(
    file: File,
    headers: &HeaderMap,
    permit: OwnedSemaphorePermit,
    stop: CancellationToken,
) -> Response {
    let file = Arc::new(file);
    let checked = file.clone();
    let inspected = blocking(move || {
        let found = checked.metadata()?;
        let mut begin = vec![0; usize::try_from(found.len().min(SNIFFED_BYTES)).unwrap_or(0)];
        let read = checked.read_at(&mut begin, 0)?;
        begin.truncate(read);
        Ok((found.len(), found.modified()?, is_text(&begin)))
    });
    let (length, modified, is_text) = match inspected.await {
        Ok(inspected) => inspected,
        Err(error) => return refused(&error),
    };
    let text_of = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let modified = Timestamp::try_from(modified).unwrap_or_default();
    let since = text_of(header::IF_MODIFIED_SINCE).map(|since| DateTimeParser::new().parse_timestamp(since));
    if since.and_then(Result::ok).is_some_and(|since| modified.as_second() <= since.as_second()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let (code, first, end) = match range(text_of(header::RANGE), length) {
        Range::Whole => (StatusCode::OK, 0, length),
        Range::Part(first, end) => (StatusCode::PARTIAL_CONTENT, first, end),
        Range::Malformed => return answers::error(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range"),
        Range::Unsatisfiable => {
            let mut answer =
                answers::error(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range: failed to overlap");
            set(&mut answer, header::CONTENT_RANGE, &format!("bytes */{length}"));
            return answer;
        }
    };
    let kind = if is_text { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    let mut answer = (code, body(file, first, end, permit, stop)).into_response();
    set(&mut answer, header::CONTENT_TYPE, kind);
    set(&mut answer, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut answer, header::ACCEPT_RANGES, "bytes");
    set(&mut answer, header::CONTENT_LENGTH, &(end - first).to_string());
    if code == StatusCode::PARTIAL_CONTENT {
        set(&mut answer, header::CONTENT_RANGE, &format!("bytes {first}-{}/{length}", end - 1));
    }
    if let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&modified) {
        set(&mut answer, header::LAST_MODIFIED, &date);
    }
    answer
}

fn set(answer: &mut Response, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

/// Whether a file that begins so is text: it has no byte that text never has (WHATWG's rule).
fn is_text(begin: &[u8]) -> bool {
    !begin.iter().any(|byte| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

fn body(
    file: Arc<File>,
    first: u64,
    end: u64,
    permit: OwnedSemaphorePermit,
    stop: CancellationToken,
) -> Body {
    // A read that is under way counts until it ends, also for a client that is gone.
    let permit = Arc::new(permit);
    Body::from_stream(stream::unfold((file, first, permit), move |(file, at, permit)| {
        let stop = stop.clone();
        async move {
            let length = usize::try_from(end - at).unwrap_or(READ_BYTES).min(READ_BYTES);
            if length == 0 || stop.is_cancelled() {
                return None;
            }
            let (read_from, held) = (file.clone(), permit.clone());
            let read = blocking(move || {
                let _held = held;
                let mut bytes = vec![0; length];
                let read = read_from.read_at(&mut bytes, at)?;
                bytes.truncate(read);
                // The length was announced: what was cut off since can't be made up.
                if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
            });
            let read: io::Result<Vec<u8>> = read.await;
            // After a failure the stream is at its end.
            let next = read.as_ref().map_or(end, |bytes| at + u64::try_from(bytes.len()).unwrap_or(0));
            Some((read, (file, next, permit)))
        }
    }))
}

/// Runs it on a thread that may wait for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
