//! A program that does what its first argument says, for the tests of the embedded runtime.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::process::ExitCode;

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match &words[1..] {
        ["show"] => show(),
        ["write"] => write(),
        ["spin"] => spin(),
        ["eat"] => eat(),
        ["hoard"] => hoard(),
        ["recurse"] => {
            println!("{}", recurse(0));
            Ok(())
        }
        ["bind", address] => bind(address).map(drop),
        ["bind-and-wait", address] => bind(address).and_then(|listener| leave_clients(&listener)),
        ["wait-forever"] => wait_forever(),
        ["eat-some", mebibytes] => eat_some(mebibytes),
        ["connect", address] => connect(address),
        ["datagram", address] => datagram(address),
        ["lookup", name] => look_up(name),
        ["read-input"] => read_input(),
        ["append", path] => append(path),
        ["flood", lines] => flood(lines),
        ["pour", mebibytes] => pour(mebibytes),
        ["escape", folder, secret] => escape(folder, secret),
        ["compute", milliseconds] => compute(milliseconds),
        unknown => Err(format!("unknown: {unknown:?}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("{problem}");
            ExitCode::from(1)
        }
    }
}

type Outcome = Result<(), String>;

fn problem(what: &str, error: &std::io::Error) -> String {
    format!("{what}: {:?}", error.kind())
}

/// Arguments, environment, both outputs, and a line without an end.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
fn show() -> Outcome {
    println!("arguments {:?}", std::env::args().collect::<Vec<_>>());
    let mut environment: Vec<_> = std::env::vars().collect();
    environment.sort();
    println!("environment {environment:?}");
    eprintln!("to the other output");
    print!("without an end");
    std::io::stdout().flush().map_err(|error| problem("flush", &error))
}

/// What the contract of runtimes wants to find in a log.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a workload's log is what it prints")]
fn write() -> Outcome {
    println!("to stdout");
    eprintln!("to stderr");
    print!("no end");
    std::io::stdout().flush().map_err(|error| problem("flush", &error))
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn spin() -> Outcome {
    println!("spinning");
    loop {
        std::hint::spin_loop();
    }
}

fn eat() -> Outcome {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(vec![1; 1 << 20]);
        std::hint::black_box(&eaten);
    }
}

/// Opens sockets and never closes them.
fn hoard() -> Outcome {
    let mut hoarded = Vec::new();
    loop {
        hoarded.push(UdpSocket::bind("0.0.0.0:0").map_err(|error| problem("bind", &error))?);
    }
}

fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if std::hint::black_box(depth) == u64::MAX { 0 } else { recurse(depth + 1).wrapping_add(frame[7]) }
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn bind(address: &str) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).map_err(|error| problem("bind", &error))?;
    let bound = listener.local_addr().map_err(|error| problem("local address", &error))?;
    println!("bound {bound}");
    Ok(listener)
}

/// Takes clients and leaves them, until the container is asked to stop.
fn leave_clients(listener: &TcpListener) -> Outcome {
    while listener.accept().is_ok() {}
    Ok(())
}

/// Waits without computing, and notices nothing.
#[allow(
    clippy::disallowed_methods,
    reason = "a workload has one thread, and nothing else to do while it waits"
)]
fn wait_forever() -> Outcome {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
}

fn eat_some(mebibytes: &str) -> Outcome {
    let mebibytes: usize = mebibytes.parse().map_err(|_| "how many?".to_owned())?;
    std::hint::black_box(vec![1_u8; mebibytes << 20]);
    Ok(())
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn connect(address: &str) -> Outcome {
    let mut stream = TcpStream::connect(address).map_err(|error| problem("connect", &error))?;
    let own = stream.local_addr().map_err(|error| problem("local address", &error))?;
    let peer = stream.peer_addr().map_err(|error| problem("peer address", &error))?;
    println!("from {} to {peer}", own.ip());
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").map_err(|error| problem("write", &error))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(|error| problem("read", &error))?;
    println!("answer {:?}", answer.lines().last().unwrap_or_default());
    Ok(())
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn datagram(address: &str) -> Outcome {
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| problem("bind", &error))?;
    let own = socket.local_addr().map_err(|error| problem("local address", &error))?;
    socket.send_to(b"hello", address).map_err(|error| problem("send", &error))?;
    println!("sent from {}", own.ip());
    Ok(())
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn look_up(name: &str) -> Outcome {
    let found = (name, 80_u16).to_socket_addrs().map_err(|_| "not found".to_owned())?;
    println!("found {:?}", found.map(|address| address.ip().to_string()).collect::<Vec<_>>());
    Ok(())
}

/// Waits for standard input to end, as it does when the container is asked to stop.
#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn read_input() -> Outcome {
    println!("waiting");
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).map_err(|error| problem("read", &error))?;
    println!("asked to stop after {} bytes", input.len());
    Ok(())
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn append(path: &str) -> Outcome {
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| problem("open", &error))?;
    file.write_all(b"written by a workload\n").map_err(|error| problem("write", &error))?;
    println!("written");
    Ok(())
}

#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn flood(lines: &str) -> Outcome {
    let lines: u32 = lines.parse().map_err(|_| "how many?".to_owned())?;
    for line in 0..lines {
        println!("line {line}");
    }
    Ok(())
}

/// Much output, without lines, on both outputs in turn.
fn pour(mebibytes: &str) -> Outcome {
    let mebibytes: u32 = mebibytes.parse().map_err(|_| "how many?".to_owned())?;
    let piece = vec![b'x'; 1 << 20];
    for number in 0..mebibytes {
        let written = match number % 2 {
            0 => std::io::stdout().write_all(&piece),
            _ => std::io::stderr().write_all(&piece),
        };
        written.map_err(|error| problem("write", &error))?;
    }
    Ok(())
}

/// Tries every way out of `folder` that a program has, to read the file at the absolute path `secret`, and tells what
/// it saw.
#[allow(clippy::print_stdout, reason = "a workload's log is what it prints")]
fn escape(folder: &str, secret: &str) -> Outcome {
    let upwards = format!("{}{}", "../".repeat(16), secret.trim_start_matches('/'));
    let mut seen = Vec::new();
    let mut ways = vec![
        secret.to_owned(),
        format!("{folder}/{upwards}"),
        format!("{folder}/made-by-the-node"),
        format!("{folder}/folder-of-the-node/{}", secret.rsplit('/').next().unwrap_or_default()),
    ];
    for (name, target) in [("absolute", secret), ("upwards", &upwards), ("root", "/"), ("parent", "..")] {
        let link = format!("{folder}/{name}");
        #[allow(deprecated, reason = "std::os::wasi is unstable, and links are what is tried")]
        let linked = std::fs::soft_link(target, &link);
        println!("link {name}: {}", if linked.is_ok() { "made" } else { "refused" });
        ways.extend([link.clone(), format!("{link}/{upwards}"), format!("{link}/{secret}")]);
    }
    for way in &ways {
        if std::fs::read_to_string(way).is_ok_and(|text| text.contains("secret")) {
            seen.push(way.clone());
        }
    }
    println!("tried {} ways", ways.len());
    match seen.is_empty() {
        true => Ok(()),
        false => Err(format!("escaped by {seen:?}")),
    }
}

/// Computes for a while.
#[allow(clippy::disallowed_methods, reason = "a guest has its own clock")]
fn compute(milliseconds: &str) -> Outcome {
    let milliseconds: u64 = milliseconds.parse().map_err(|_| "how long?".to_owned())?;
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_millis(milliseconds) {
        std::hint::spin_loop();
    }
    Ok(())
}
