//! A `wasi:http/proxy` component that does what a request's path says, for the tests of the embedded runtime. As a
//! command in its container it says what it was given.

#[cfg(target_os = "wasi")]
mod handler {
    //! The handler, which only a component has.
    #![allow(unsafe_code, reason = "wit-bindgen generates the export")]
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test's guest; some of it is there to fail")]
    #![allow(clippy::print_stdout, reason = "a workload's log is what it prints")]

    use std::io::{Read as _, Write};
    use std::sync::atomic::{AtomicU32, Ordering};

    use wasip2::clocks::monotonic_clock::subscribe_duration;
    use wasip2::exports::http::incoming_handler::Guest;
    use wasip2::http::outgoing_handler;
    use wasip2::http::types::{
        Fields, IncomingBody, IncomingRequest, OutgoingBody, OutgoingRequest, OutgoingResponse,
        ResponseOutparam, Scheme,
    };

    struct Proxy;

    wasip2::http::proxy::export!(Proxy);

    static REQUESTS: AtomicU32 = AtomicU32::new(0);
    /// Ten milliseconds, in nanoseconds.
    const MOMENT: u64 = 10_000_000;
    /// An hour, in nanoseconds.
    const HOUR: u64 = 3_600_000_000_000;

    impl Guest for Proxy {
        fn handle(request: IncomingRequest, answer: ResponseOutparam) {
            let target = request.path_with_query().unwrap_or_default();
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            match path {
                "/hello" => {
                    let count = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
                    let authority = request.authority().unwrap_or_default();
                    println!("asked by {}", request.headers().get("user-agent").len());
                    say(answer, &format!("hello {count} {authority} {:?}", std::env::var("A")));
                }
                "/moment" => {
                    subscribe_duration(MOMENT).block();
                    say(answer, "after a moment");
                }
                "/length" => match read(&request) {
                    Ok(bytes) => say(answer, &bytes.len().to_string()),
                    Err(problem) => say(answer, &problem),
                },
                "/read" => say(answer, &std::fs::read_to_string(query).unwrap_or_else(|e| e.to_string())),
                "/fetch" => say(answer, &fetch(Scheme::Http, query)),
                "/fetch-https" => say(answer, &fetch(Scheme::Https, query)),
                "/never" => subscribe_duration(HOUR).block(),
                "/spin" => loop {
                    std::hint::spin_loop();
                },
                "/silent" => {}
                "/panic" => panic!("on purpose"),
                "/eat" => eat(),
                "/flood" => flood(answer),
                "/begin" => begin(answer),
                _ => say(answer, "what?"),
            }
        }
    }

    fn eat() {
        let mut eaten: Vec<Vec<u8>> = Vec::new();
        loop {
            eaten.push(vec![1; 1 << 20]);
            std::hint::black_box(&eaten);
        }
    }

    fn read(request: &IncomingRequest) -> Result<Vec<u8>, String> {
        let body = request.consume().map_err(|()| "no body".to_owned())?;
        read_body(&body)
    }

    fn read_body(body: &IncomingBody) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut stream = body.stream().map_err(|()| "no body".to_owned())?;
        stream.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn say(answer: ResponseOutparam, text: &str) {
        let response = OutgoingResponse::new(Fields::new());
        let body = response.body().unwrap();
        ResponseOutparam::set(answer, Ok(response));
        let mut stream = body.write().unwrap();
        stream.write_all(text.as_bytes()).and_then(|()| Write::flush(&mut stream)).unwrap();
        drop(stream);
        OutgoingBody::finish(body, None).unwrap();
    }

    /// Writes without end, until it isn't read any more.
    fn flood(answer: ResponseOutparam) {
        let response = OutgoingResponse::new(Fields::new());
        let body = response.body().unwrap();
        ResponseOutparam::set(answer, Ok(response));
        let mut stream = body.write().unwrap();
        while stream.write_all(&[b'x'; 4096]).and_then(|()| Write::flush(&mut stream)).is_ok() {}
    }

    /// Begins to answer, and goes no further.
    fn begin(answer: ResponseOutparam) {
        let response = OutgoingResponse::new(Fields::new());
        let body = response.body().unwrap();
        ResponseOutparam::set(answer, Ok(response));
        let mut stream = body.write().unwrap();
        stream.write_all(b"begun").and_then(|()| Write::flush(&mut stream)).unwrap();
        subscribe_duration(HOUR).block();
    }

    fn fetch(scheme: Scheme, authority: &str) -> String {
        let request = OutgoingRequest::new(Fields::new());
        request.set_scheme(Some(&scheme)).unwrap();
        request.set_authority(Some(authority)).unwrap();
        request.set_path_with_query(Some("/hello")).unwrap();
        let pending = match outgoing_handler::handle(request, None) {
            Ok(pending) => pending,
            Err(code) => return format!("refused: {code:?}"),
        };
        pending.subscribe().block();
        match pending.get().unwrap().unwrap() {
            Ok(response) => {
                let body = read_body(&response.consume().unwrap()).unwrap();
                format!("{} {}", response.status(), String::from_utf8_lossy(&body))
            }
            Err(code) => format!("failed: {code:?}"),
        }
    }
}

#[allow(clippy::print_stdout, reason = "a command's answer is what it prints")]
fn main() {
    println!("arguments {:?}", std::env::args().collect::<Vec<_>>());
}
