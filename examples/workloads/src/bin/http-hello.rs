//! A `wasi:http/proxy` component: exports a function that answers one request, and leaves sockets, HTTP and
//! concurrency to the runtime. Each request has a fresh instance.
//!
//! `GET /` greets, `POST /` gives back what it was sent, anything else is 404. Run as a command in its container (it
//! exports `wasi:cli/run` as well) it says who it is.

#[cfg(target_os = "wasi")]
mod handler {
    //! The handler, which only a component has.
    #![allow(unsafe_code, reason = "wit-bindgen generates the export")]

    use std::io::{Read as _, Write};

    use wasip2::exports::http::incoming_handler::Guest;
    use wasip2::http::types::{
        ErrorCode, Fields, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
    };

    /// More of a request than this isn't given back.
    const ECHO_BYTES_MAX: u64 = 1 << 20;

    struct Hello;

    wasip2::http::proxy::export!(Hello);

    impl Guest for Hello {
        fn handle(request: IncomingRequest, answer: ResponseOutparam) {
            let path = request.path_with_query().unwrap_or_default();
            match (request.method(), path.as_str()) {
                (Method::Get, "/") => say(answer, 200, format!("Hello from {}\n", super::name()).as_bytes()),
                (Method::Post, "/") => match body(&request) {
                    Ok(body) => say(answer, 200, &body),
                    Err(problem) => say(answer, 400, problem.as_bytes()),
                },
                _ => say(answer, 404, b"there is nothing but /\n"),
            }
        }
    }

    /// What the client sent.
    fn body(request: &IncomingRequest) -> Result<Vec<u8>, String> {
        let body = request.consume().map_err(|()| "the body is gone".to_owned())?;
        let stream = body.stream().map_err(|()| "the body is gone".to_owned())?;
        let mut bytes = Vec::new();
        stream.take(ECHO_BYTES_MAX).read_to_end(&mut bytes).map_err(|cause| cause.to_string())?;
        Ok(bytes)
    }

    #[allow(clippy::print_stderr, reason = "a workload's log is what it prints")]
    fn say(answer: ResponseOutparam, status: u16, text: &[u8]) {
        let response = OutgoingResponse::new(Fields::new());
        let Ok(body) = response.set_status_code(status).and_then(|()| response.body()) else {
            let words = "the response can't be made".to_owned();
            ResponseOutparam::set(answer, Err(ErrorCode::InternalError(Some(words))));
            return;
        };
        ResponseOutparam::set(answer, Ok(response));
        let written = match body.write() {
            Ok(mut stream) => {
                stream.write_all(text).and_then(|()| Write::flush(&mut stream)).map_err(|e| e.to_string())
            }
            Err(()) => Err("the body is gone".to_owned()),
        };
        let finished = written.and_then(|()| OutgoingBody::finish(body, None).map_err(|e| e.to_string()));
        if let Err(problem) = finished {
            eprintln!("a client went away: {problem}");
        }
    }
}

/// Whom it greets for.
fn name() -> String {
    let named = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME"));
    named.unwrap_or_else(|_| "a pod".to_owned())
}

#[allow(clippy::print_stdout, reason = "a command's answer is what it prints")]
fn main() {
    println!("http-hello of {}: answers HTTP", name());
}
