//! Answers by script, in the place of the network.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Error, Request};
use crate::time::Deadline;

/// An answer that a test gives. The default is `200` without headers and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedAnswer {
    /// The status code.
    pub status: u16,
    /// Headers in their order.
    pub headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// How the body breaks off after that, if it does.
    pub breaks: Option<Error>,
    /// The body comes in parts of so many bytes; as a whole if it is missing.
    pub part_bytes: Option<usize>,
}

impl Default for ScriptedAnswer {
    fn default() -> Self {
        Self { status: 200, headers: Vec::new(), body: Vec::new(), breaks: None, part_bytes: None }
    }
}

/// What a test answers.
pub type Answering = dyn Fn(&Request) -> Result<ScriptedAnswer, Error>;

thread_local! {
    static SERVER: RefCell<Option<Rc<Answering>>> = const { RefCell::new(None) };
}

/// Answers all requests of this thread so, from now on. Before, no server can be reached.
pub fn serve_http(answer: impl Fn(&Request) -> Result<ScriptedAnswer, Error> + 'static) {
    SERVER.set(Some(Rc::new(answer)));
}

#[derive(Debug)]
pub(super) struct ResponseReader {
    answer: ScriptedAnswer,
    read: usize,
}

pub(super) fn send(request: &Request, _: Deadline) -> Result<ResponseReader, Error> {
    let server = SERVER.with_borrow(Option::clone);
    let server = server.ok_or_else(|| Error::Denied { authority: request.authority.clone() })?;
    Ok(ResponseReader { answer: server(request)?, read: 0 })
}

impl ResponseReader {
    pub(super) fn status(&self) -> u16 {
        self.answer.status
    }

    pub(super) fn header(&self, name: &str) -> Option<Vec<u8>> {
        let mut headers = self.answer.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.clone().into_bytes())
    }

    pub(super) fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let headers = self.answer.headers.iter();
        headers.map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect()
    }

    pub(super) fn read(&mut self, bytes_max: usize, _: Deadline) -> Result<Vec<u8>, Error> {
        let bytes_max = bytes_max.min(self.answer.part_bytes.unwrap_or(usize::MAX));
        let part: Vec<u8> = self.answer.body.iter().skip(self.read).take(bytes_max).copied().collect();
        self.read += part.len();
        match &self.answer.breaks {
            Some(error) if part.is_empty() && bytes_max > 0 => Err(error.clone()),
            Some(_) | None => Ok(part),
        }
    }
}
