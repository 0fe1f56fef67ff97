//! An HTTP server: answers every GET with a greeting that names its pod, until it is asked to stop.
//!
//! `PORT` (default 8080) is where it listens, on every address that its pod has. `POD_NAME` is whom it greets for.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use witlet_example_workloads::{number, request_line};

/// More of a request than this isn't read.
const REQUEST_BYTES_MAX: u64 = 8 * 1024;
/// A client that is slower than this is left, as this server talks to one at a time.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
fn main() -> ExitCode {
    let pod = std::env::var("POD_NAME")
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_else(|_| "a pod".to_owned());
    let listener = match number(1, "PORT", 8080_u16).and_then(|port| {
        TcpListener::bind(("0.0.0.0", port)).map_err(|cause| format!("listen on port {port}: {cause}"))
    }) {
        Ok(listener) => listener,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    match listener.local_addr() {
        Ok(address) => println!("listening on {address}"),
        Err(cause) => eprintln!("listening, but the address isn't known: {cause}"),
    }
    for client in listener.incoming() {
        match client {
            Ok(client) => {
                if let Err(cause) = answer(client, &pod) {
                    eprintln!("a client went away: {cause}");
                }
            }
            // A client that gave up before it was served isn't the end of the server.
            Err(cause) if cause.kind() == ErrorKind::ConnectionAborted => eprintln!("accept: {cause}"),
            // The embedded runtime ends `accept` when it asks a container to stop.
            Err(cause) => {
                println!("no more clients ({cause}): goodbye");
                return ExitCode::SUCCESS;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Reads one request and answers it.
fn answer(client: TcpStream, pod: &str) -> std::io::Result<()> {
    // Not every host supports timeouts on sockets; without them a slow client is only slow.
    _ = client.set_read_timeout(Some(CLIENT_TIMEOUT));
    let mut reader = BufReader::new((&client).take(REQUEST_BYTES_MAX));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 0 && header.trim_end() != "" {
        header.clear();
    }
    let (status, body) = match request_line(&first) {
        Some(("GET", path)) => ("200 OK", format!("Hello from {pod}: you asked for {path}\n")),
        Some((method, _)) => ("405 Method Not Allowed", format!("{method} isn't served here\n")),
        None => ("400 Bad Request", "that is no HTTP request\n".to_owned()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n");
    (&client).write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
}
