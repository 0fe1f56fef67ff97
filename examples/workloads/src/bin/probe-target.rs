//! A program that does what its arguments say, step by step (`src/steps.rs`): for probes, hooks, volumes and
//! termination messages to be tried on.
//!
//! Without arguments it serves. `PORT` (default 8080) is where; `HEALTH_DIR` (default `/health`) is a folder, a volume
//! most likely, whose files decide what it answers: `GET /healthz` is 200 unless there is a file `sick`, `GET /readyz`
//! is 200 if there is a file `ready`, anything else is 404. `TERMINATION_MESSAGE_PATH` (default
//! `/dev/termination-log`) is where a message goes. A second container, or a command run in this one, can flip those
//! files: `write /health/sick yes`, `remove /health/sick`.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use witlet_example_workloads::steps::{self, Step};
use witlet_example_workloads::{exit_with, number, request_line};

/// More of a request than this isn't read.
const REQUEST_BYTES_MAX: u64 = 8 * 1024;
/// A client that is slower than this is left, as this server talks to one at a time.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

#[allow(clippy::print_stderr, reason = "a workload's log is what it prints")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = steps::parse(&arguments).and_then(|steps| {
        let steps = if steps.is_empty() { vec![Step::Serve] } else { steps };
        steps.iter().try_for_each(take)
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
#[allow(
    clippy::disallowed_methods,
    reason = "a workload has one thread, and nothing else to do while it waits"
)]
fn take(step: &Step) -> Result<(), String> {
    let named = |path: &str, result: std::io::Result<()>| result.map_err(|cause| format!("{path}: {cause}"));
    match step {
        Step::Print(text) => println!("{text}"),
        Step::Sleep(duration) => std::thread::sleep(*duration),
        Step::Wait => named("standard input", std::io::stdin().read_to_end(&mut Vec::new()).map(drop))?,
        Step::Spin => loop {
            std::hint::spin_loop();
        },
        Step::Write(path, text) => named(path, fs::write(path, text))?,
        Step::Append(path, text) => named(path, append(path, text))?,
        Step::Remove(path) => match fs::remove_file(path) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(format!("{path}: {cause}")),
            Ok(()) | Err(_) => {}
        },
        Step::Read(path) => {
            let text = fs::read_to_string(path).map_err(|cause| format!("{path}: {cause}"))?;
            print!("{text}");
        }
        Step::Exists(path) => named(path, fs::metadata(path).map(drop))?,
        Step::Message(text) => {
            let path = variable("TERMINATION_MESSAGE_PATH", "/dev/termination-log");
            named(&path, fs::write(&path, text))?;
        }
        Step::Serve => serve()?,
        Step::Exit(code) => exit_with(*code),
    }
    Ok(())
}

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn append(path: &str, text: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
fn serve() -> Result<(), String> {
    let port = number(usize::MAX, "PORT", 8080_u16)?;
    let health = PathBuf::from(variable("HEALTH_DIR", "/health"));
    let listener = TcpListener::bind(("0.0.0.0", port)).map_err(|cause| format!("port {port}: {cause}"))?;
    println!("listening on port {port}");
    for client in listener.incoming() {
        match client {
            Ok(client) => {
                if let Err(cause) = answer(&client, &health) {
                    eprintln!("a client went away: {cause}");
                }
            }
            Err(cause) if cause.kind() == ErrorKind::ConnectionAborted => eprintln!("accept: {cause}"),
            // The embedded runtime ends `accept` when it asks a container to stop.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

fn answer(client: &TcpStream, health: &Path) -> std::io::Result<()> {
    // Not every host supports timeouts on sockets; without them a slow client is only slow.
    _ = client.set_read_timeout(Some(CLIENT_TIMEOUT));
    let mut reader = BufReader::new(client.take(REQUEST_BYTES_MAX));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 0 && header.trim_end() != "" {
        header.clear();
    }
    let there = |name: &str| health.join(name).exists();
    let (status, body) = match request_line(&first) {
        Some(("GET", "/healthz")) if there("sick") => ("503 Service Unavailable", "sick\n"),
        Some(("GET", "/healthz")) => ("200 OK", "well\n"),
        Some(("GET", "/readyz")) if there("ready") => ("200 OK", "ready\n"),
        Some(("GET", "/readyz")) => ("503 Service Unavailable", "not ready\n"),
        Some(_) => ("404 Not Found", "there is /healthz and /readyz\n"),
        None => ("400 Bad Request", "that is no HTTP request\n"),
    };
    let length = body.len();
    let mut client = client;
    client.write_all(
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .as_bytes(),
    )
}
