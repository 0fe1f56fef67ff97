//! Requests over `wasi:http`.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
    http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

use super::{Error, Request};
use crate::net::Problem;
use crate::time::{Deadline, wait};

/// Dropped in this order: what is read is a child of the body, which is one of the response.
#[derive(Debug)]
pub(super) struct ResponseReader {
    body: Option<(InputStream, IncomingBody)>,
    response: IncomingResponse,
    authority: String,
}

pub(super) fn send(request: &Request, deadline: Deadline) -> Result<ResponseReader, Error> {
    let (outgoing, body) = outgoing(request)?;
    let future = handle(outgoing, None).map_err(|code| error(code, &request.authority))?;
    write(body, &request.body, deadline)?;
    loop {
        match future.get() {
            Some(Ok(Ok(response))) => {
                return Ok(ResponseReader { body: None, response, authority: request.authority.clone() });
            }
            Some(Ok(Err(code))) => return Err(error(code, &request.authority)),
            // Taken already, which can't be: this is the only place that takes it.
            Some(Err(())) => return Err(malformed("the answer was taken")),
            None if wait(&future.subscribe(), deadline) => {}
            None => return Err(Error::HeadersLate),
        }
    }
}

fn outgoing(request: &Request) -> Result<(OutgoingRequest, OutgoingBody), Error> {
    let invalid = |problem: &str| Error::Request { problem: problem.to_owned() };
    let fields: Vec<(String, Vec<u8>)> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.as_bytes().to_vec())).collect();
    let headers = Fields::from_list(&fields).map_err(|_| invalid("a header can't be sent"))?;
    let outgoing = OutgoingRequest::new(headers);
    let method = match request.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match request.scheme {
        super::Scheme::Http => Scheme::Http,
        super::Scheme::Https => Scheme::Https,
    };
    // A new request is a GET already.
    if !matches!(method, Method::Get) {
        outgoing.set_method(&method).map_err(|()| invalid("the method can't be sent"))?;
    }
    outgoing.set_scheme(Some(&scheme)).map_err(|()| invalid("the scheme can't be sent"))?;
    outgoing.set_authority(Some(&request.authority)).map_err(|()| invalid("the host can't be one"))?;
    outgoing.set_path_with_query(Some(&request.path)).map_err(|()| invalid("the path can't be sent"))?;
    let body = outgoing.body().map_err(|()| invalid("the body was taken"))?;
    Ok((outgoing, body))
}

fn write(body: OutgoingBody, mut bytes: &[u8], deadline: Deadline) -> Result<(), Error> {
    if !bytes.is_empty() {
        let stream = body.write().map_err(|()| malformed("the request's body was taken"))?;
        while !bytes.is_empty() {
            // The answer explains better what breaks here.
            let Ok(writable) = stream.check_write() else { return Ok(()) };
            let writable = usize::try_from(writable).unwrap_or(usize::MAX).min(bytes.len());
            if writable == 0 {
                if !wait(&stream.subscribe(), deadline) {
                    return Err(Error::HeadersLate);
                }
                continue;
            }
            let (now, later) = bytes.split_at(writable);
            if stream.write(now).is_err() {
                return Ok(());
            }
            bytes = later;
        }
        drop(stream);
    }
    OutgoingBody::finish(body, None).map_err(|code| error(code, ""))
}

impl ResponseReader {
    pub(super) fn status(&self) -> u16 {
        self.response.status()
    }

    pub(super) fn header(&self, name: &str) -> Option<Vec<u8>> {
        self.response.headers().get(name).into_iter().next()
    }

    pub(super) fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.response.headers().entries()
    }

    pub(super) fn read(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Error> {
        let stream = match &self.body {
            Some((stream, _)) => stream,
            None => {
                let body = self.response.consume().map_err(|()| malformed("the body was taken"))?;
                let stream = body.stream().map_err(|()| malformed("the body was taken"))?;
                &self.body.insert((stream, body)).0
            }
        };
        let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
        loop {
            match stream.read(bytes_max) {
                Ok(bytes) if bytes.is_empty() => {
                    if !wait(&stream.subscribe(), deadline) {
                        return Err(Error::BodyLate);
                    }
                }
                Ok(bytes) => return Ok(bytes),
                Err(StreamError::Closed) => return Ok(Vec::new()),
                Err(StreamError::LastOperationFailed(cause)) => {
                    let code = http_error_code(&cause);
                    return Err(code.map_or_else(
                        || malformed("the body breaks off"),
                        |code| error(code, &self.authority),
                    ));
                }
            }
        }
    }
}

fn malformed(problem: &str) -> Error {
    Error::Malformed { problem: problem.to_owned() }
}

/// The host's code in this module's words.
fn error(code: ErrorCode, authority: &str) -> Error {
    let authority = || authority.to_owned();
    let dial = |problem| Error::Dial { authority: authority(), problem };
    match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => {
            Error::Denied { authority: authority() }
        }
        ErrorCode::ConnectionRefused => dial(Problem::Refused),
        ErrorCode::DestinationNotFound | ErrorCode::DnsError(_) => dial(Problem::NoSuchName),
        ErrorCode::DnsTimeout => dial(Problem::NameServers),
        ErrorCode::DestinationUnavailable | ErrorCode::DestinationIpUnroutable => dial(Problem::Unreachable),
        ErrorCode::ConnectionTimeout => dial(Problem::TimedOut),
        ErrorCode::HttpResponseTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout => Error::HeadersLate,
        ErrorCode::TlsProtocolError => Error::Tls { problem: "protocol error".to_owned() },
        ErrorCode::TlsCertificateError => Error::Tls { problem: "certificate error".to_owned() },
        ErrorCode::TlsAlertReceived(alert) => {
            Error::Tls { problem: alert.alert_message.unwrap_or_else(|| "alert".to_owned()) }
        }
        ErrorCode::ConnectionTerminated => malformed("connection reset by peer"),
        ErrorCode::HttpResponseIncomplete => malformed("unexpected EOF"),
        ErrorCode::HttpProtocolError => malformed("protocol error"),
        ErrorCode::HttpRequestUriInvalid => Error::Request { problem: "the URL is none".to_owned() },
        ErrorCode::InternalError(Some(words)) => Error::Host { words },
        other => malformed(&format!("{other}")),
    }
}
