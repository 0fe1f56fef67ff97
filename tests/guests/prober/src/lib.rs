//! A probe type that does what its parameters say: `{"do": …}` with the name of a behaviour, and what that needs.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream as StdStream, UdpSocket as StdUdp};
use std::time::Duration;

use serde::Deserialize;
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe, http, log, net, secret};

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static HOARD: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static KEPT: RefCell<Vec<StdStream>> = const { RefCell::new(Vec::new()) };
    static ANSWERS: RefCell<Vec<http::Response>> = const { RefCell::new(Vec::new()) };
}

struct Prober;

/// What to do.
#[derive(Deserialize)]
struct Parameters {
    #[serde(rename = "do")]
    behaviour: String,
    #[serde(default)]
    host: String,
    #[serde(default)]
    port: u16,
    #[serde(default)]
    text: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    milliseconds: u64,
}

/// `null`, or a word.
type Config = Option<String>;

impl ProbeType for Prober {
    type Config = Config;
    type Parameters = Parameters;

    fn validate(config: &Config) -> Result<(), Error> {
        match config.as_deref() {
            Some("refuse") => Err(Error::nothing_found("I don't like this configuration")),
            Some("loop") => spin(),
            _ => Ok(()),
        }
    }

    fn check_parameters(parameters: &Parameters, _: &Config) -> Result<(), Error> {
        match parameters.behaviour.as_str() {
            "" => Err(Error::nothing_found("nothing to do")),
            "loop-in-check" => spin(),
            _ => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, _: &Config) -> Result<Outcome, Error> {
        let calls = CALLS.replace(CALLS.get() + 1);
        let text = parameters.text.clone();
        match parameters.behaviour.as_str() {
            "succeed" => Ok(Outcome::Success(text)),
            "warn" => Ok(Outcome::Warning(text)),
            "fail" => Ok(Outcome::Failure(text)),
            "error" => Err(Error::nothing_found(text)),
            "long-text" => Ok(Outcome::Failure("x".repeat(100_000))),
            "huge-text" => Ok(Outcome::Failure("x".repeat(8 << 20))),
            "count" => Ok(Outcome::Success(calls.to_string())),
            "inspect" => Ok(Outcome::Success(inspect(target))),
            "exec" => Ok(exec(target, &parameters.command)),
            "http" => Ok(get(target, parameters)),
            "keep-answer" => Ok(keep_answer(target, parameters)),
            "secret" => Ok(match secret::get(&text) {
                Ok(value) => Outcome::Success(String::from_utf8_lossy(&value).into_owned()),
                Err(error) => Outcome::Failure(error.to_string()),
            }),
            "connect" | "keep-socket" | "hoard-sockets" | "listen" | "bind" | "datagram" | "sdk-connect" => {
                Ok(sockets(target, parameters))
            }
            "read" => Ok(reported(std::fs::read_to_string(&text))),
            "write" => Ok(reported(std::fs::write(&text, "written").map(|()| String::new()))),
            other => {
                attack(other, parameters);
                Ok(Outcome::Success(String::new()))
            }
        }
    }
}

export_probe!(Prober);

/// What doesn't come back, or comes back as if nothing had happened.
#[allow(clippy::panic, clippy::disallowed_methods, reason = "they are the attacks")]
fn attack(behaviour: &str, parameters: &Parameters) {
    match behaviour {
        "loop" => spin(),
        "sleep" => std::thread::sleep(Duration::from_millis(parameters.milliseconds)),
        "trap" => panic!("I fall"),
        "exit" => std::process::exit(3),
        "memory-bomb" => loop {
            HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 1 << 20]));
        },
        "hoard" => HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 3 << 20])),
        "recursion" => _ = deep(1),
        "log-flood" => {
            (0..10_000).for_each(|line| log::write(log::Level::Info, &format!("line {line}"), &[]))
        }
        "print" => _ = std::io::stdout().write_all(b"printed\n"),
        other => panic!("unknown instruction: {other}"),
    }
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

#[allow(unconditional_recursion, reason = "it is the attack")]
fn deep(level: u64) -> u64 {
    std::hint::black_box(deep(std::hint::black_box(level + 1))) + 1
}

fn reported(result: std::io::Result<String>) -> Outcome {
    match result {
        Ok(text) => Outcome::Success(text),
        Err(error) => Outcome::Failure(error.kind().to_string()),
    }
}

fn inspect(target: &Target<'_>) -> String {
    let pod = target.pod();
    let ports: Vec<String> = target
        .named_ports()
        .iter()
        .map(|port| format!("{}={}/{}", port.name, port.port, port.protocol))
        .collect();
    format!(
        "{}/{} {} {} {} {} {:?} {:?} {} {:?} {} {:?}",
        pod.namespace,
        pod.name,
        pod.uid,
        target.container(),
        target.container_id(),
        target.restarts(),
        target.pod_ips(),
        target.host_ips(),
        ports.join(","),
        target.kind(),
        target.remaining() <= Duration::from_secs(5),
        target.pod_pointer("/metadata/name"),
    )
}

fn exec(target: &Target<'_>, command: &[String]) -> Outcome {
    match target.exec(command) {
        Ok(ended) => {
            Outcome::Success(format!("{} {}", ended.exit_code, String::from_utf8_lossy(&ended.output)))
        }
        Err(error) => Outcome::Failure(error.to_string()),
    }
}

fn get(target: &Target<'_>, parameters: &Parameters) -> Outcome {
    let deadline = target.deadline();
    let url = format!("http://{}/hello", net::host_port(&parameters.host, parameters.port));
    let asked = http::Request::get(&url).map(|request| match parameters.text.as_str() {
        "" => request,
        host => request.header("Host", host),
    });
    let answered = asked.and_then(|request| {
        let mut answer = http::send(&request, deadline)?;
        Ok((answer.status(), answer.whole_body(10_000, deadline)?))
    });
    match answered {
        Ok((status, body)) => Outcome::Success(format!("{status} {}", String::from_utf8_lossy(&body))),
        Err(error) => Outcome::Failure(error.to_string()),
    }
}

fn keep_answer(target: &Target<'_>, parameters: &Parameters) -> Outcome {
    let url = format!("http://{}/hello", net::host_port(&parameters.host, parameters.port));
    let answered = http::Request::get(&url).and_then(|request| http::send(&request, target.deadline()));
    match answered {
        Ok(answer) => {
            ANSWERS.with_borrow_mut(|answers| answers.push(answer));
            Outcome::Success(CALLS.get().to_string())
        }
        Err(error) => Outcome::Failure(error.to_string()),
    }
}

fn sockets(target: &Target<'_>, parameters: &Parameters) -> Outcome {
    let address = net::host_port(&parameters.host, parameters.port);
    match parameters.behaviour.as_str() {
        "connect" => reported(StdStream::connect(&address).map(|_| String::new())),
        "sdk-connect" => {
            match net::TcpStream::connect(&parameters.host, parameters.port, target.deadline()) {
                Ok(_) => Outcome::Success(String::new()),
                Err(error) => Outcome::Failure(error.to_string()),
            }
        }
        "keep-socket" => reported(StdStream::connect(&address).map(|stream| {
            KEPT.with_borrow_mut(|kept| kept.push(stream));
            CALLS.get().to_string()
        })),
        "hoard-sockets" => {
            let opened: Vec<_> =
                (0..1000).map_while(|_| net::UdpSocket::connect("127.0.0.1", 9, soon()).ok()).collect();
            Outcome::Success(opened.len().to_string())
        }
        "listen" => reported(TcpListener::bind("0.0.0.0:0").map(|_| String::new())),
        "bind" => reported(StdUdp::bind(("127.0.0.1", parameters.port)).map(|_| String::new())),
        "datagram" => {
            let deadline = target.deadline();
            let exchanged = net::UdpSocket::connect(&parameters.host, parameters.port, deadline).and_then(
                |mut socket| {
                    socket.send(b"ping", deadline)?;
                    socket.receive(100, deadline)
                },
            );
            match exchanged {
                Ok(answer) => Outcome::Success(String::from_utf8_lossy(&answer).into_owned()),
                Err(error) => Outcome::Failure(error.to_string()),
            }
        }
        other => Outcome::Failure(format!("unknown instruction: {other}")),
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(200))
}
