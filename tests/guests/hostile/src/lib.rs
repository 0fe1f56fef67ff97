//! An admission handler that does what its configuration says: a JSON string with the name of a behaviour.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers, and so is one of the attacks")]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

use std::cell::{Cell, RefCell};
use std::time::Duration;

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/host", "../../../wit/admission", "wit/http", "wit/world"],
        world: "test:hostile/hostile",
        generate_all,
    });
}

use bindings::exports::witlet::admission::handler::Guest;
use bindings::wasi::http::test_handler::{self as outgoing_handler, ErrorCode, OutgoingRequest};
use bindings::witlet::admission::types::{Deferral, Pod, Rejection, Request, Shortage, Verdict};
use bindings::witlet::host::log::{self, Level};

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static HOARD: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static KEPT: RefCell<Option<Pod>> = const { RefCell::new(None) };
}

struct Hostile;

#[cfg(target_family = "wasm")]
bindings::export!(Hostile with_types_in bindings);

impl Guest for Hostile {
    fn validate(config: String) -> Result<(), String> {
        match config.trim_matches('"') {
            "refuse-config" => Err("I don't like this configuration".to_owned()),
            "loop-in-validate" => spin(),
            "trap-in-validate" => trap(),
            _ => Ok(()),
        }
    }

    fn admit(request: &Request) -> Result<Verdict, String> {
        let config = bindings::witlet::host::config::get();
        let behaviour = config.trim_matches('"');
        attack(behaviour);
        match behaviour {
            "error" => Err("I refuse to answer".to_owned()),
            "reject" => Ok(reject("NotNeeded", "this pod isn't needed")),
            "defer" => Ok(defer("NotNow", 5000)),
            "shortage" => Ok(shortage("cpu")),
            "empty-reason" => Ok(reject("", "no reason")),
            "bad-word" => Ok(reject("not a word", "a sentence for a reason")),
            "empty-shortage" => Ok(Verdict::Shortage(Vec::new())),
            "huge-result" => Ok(huge_result()),
            "count" => Ok(reject("Count", &CALLS.replace(CALLS.get() + 1).to_string())),
            "hoard" => {
                HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 4 << 20]));
                Ok(Verdict::Admit)
            }
            "keep-handle" => {
                let earlier = KEPT.replace(Some(request.pod()));
                // Of the question before this one, if this instance was asked one.
                Ok(reject("Kept", &earlier.map_or_else(String::new, |pod| pod.identity().name)))
            }
            "explore" => Ok(reject("Seen", &explore())),
            "decode-json" => decode_json(&request.pod().json()),
            "http" => Ok(reject("Http", &http())),
            _ => Ok(Verdict::Admit),
        }
    }
}

/// What doesn't come back, or comes back as if nothing had happened.
#[allow(clippy::panic, clippy::disallowed_methods, reason = "they are the attacks")]
fn attack(behaviour: &str) {
    match behaviour {
        "loop-in-admit" => spin(),
        "memory-bomb" => memory_bomb(),
        "recursion" => {
            std::hint::black_box(recurse(u64::MAX));
        }
        "trap" => trap(),
        "panic" => panic!("a panic of the plugin's"),
        "exit" => std::process::exit(1),
        "sleep" => std::thread::sleep(Duration::from_secs(3600)),
        "log-flood" => {
            let line = "spam ".repeat(2000);
            for number in 0..1000 {
                log::write(Level::Error, &line, &[("number".to_owned(), number.to_string())]);
            }
        }
        "stdout-flood" => {
            for _ in 0..1000 {
                println_spam();
            }
        }
        _ => {}
    }
}

#[allow(clippy::print_stdout, reason = "standard output is what it floods")]
fn println_spam() {
    println!("{}", "spam ".repeat(20));
}

#[allow(clippy::empty_loop, reason = "it is the attack")]
fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn trap() -> ! {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort();
}

fn memory_bomb() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(vec![1_u8; 1 << 20]);
        std::hint::black_box(&hoard);
    }
}

fn recurse(depth: u64) -> u64 {
    if depth == 0 { 0 } else { std::hint::black_box(recurse(std::hint::black_box(depth - 1))) + 1 }
}

/// A gigabyte, made of the same eight megabytes again and again.
fn huge_result() -> Verdict {
    const BYTES: usize = 8 << 20;
    let text = std::mem::ManuallyDrop::new("x".repeat(BYTES));
    let shortages = (0..128).map(|_| Shortage {
        // SAFETY: not kept at all, the strings share their memory. The host is expected to end this instance before
        // they are freed.
        resource: unsafe { String::from_raw_parts(text.as_ptr().cast_mut(), BYTES, BYTES) },
        requested: 1,
        used: 1,
        capacity: 1,
    });
    Verdict::Shortage(shortages.collect())
}

fn reject(reason: &str, message: &str) -> Verdict {
    Verdict::Reject(Rejection { reason: reason.to_owned(), message: message.to_owned() })
}

fn defer(reason: &str, retry_after_milliseconds: u64) -> Verdict {
    Verdict::Defer(Deferral {
        reason: reason.to_owned(),
        message: "not now".to_owned(),
        retry_after_milliseconds,
    })
}

fn shortage(resource: &str) -> Verdict {
    Verdict::Shortage(vec![Shortage {
        resource: resource.to_owned(),
        requested: 500,
        used: 800,
        capacity: 1000,
    }])
}

/// Everything that could tell one call from another, or this node from the next.
#[allow(clippy::disallowed_methods, reason = "a guest's clocks are what it checks")]
fn explore() -> String {
    use std::collections::hash_map::RandomState;
    use std::hash::BuildHasher;
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let later = std::time::Instant::now();
    let elapsed = later.elapsed();
    let file = std::fs::read("/etc/passwd").map(|bytes| bytes.len()).map_err(|error| error.kind());
    let connect = std::net::TcpStream::connect("127.0.0.1:80").map(drop).map_err(|error| error.kind());
    let lookup = std::net::ToSocketAddrs::to_socket_addrs("localhost:80").map(Iterator::count);
    format!(
        "env={} args={} time={}.{:09} elapsed={elapsed:?} file={file:?} connect={connect:?} lookup={} random={:x}",
        std::env::vars().count(),
        std::env::args().count(),
        time.as_secs(),
        time.subsec_nanos(),
        lookup.is_ok(),
        RandomState::new().hash_one(7_u8),
    )
}

/// What a handler does that doesn't use the getters: decodes the whole pod to check its images.
fn decode_json(pod: &str) -> Result<Verdict, String> {
    let pod: serde_json::Value = serde_json::from_str(pod).map_err(|error| error.to_string())?;
    let containers = pod.pointer("/spec/containers").and_then(serde_json::Value::as_array);
    let images = containers.into_iter().flatten().filter_map(|container| container.get("image")?.as_str());
    match images.filter(|image| image.ends_with(":latest")).count() {
        0 => Ok(Verdict::Admit),
        _ => Ok(reject("LatestTag", "an image has the tag latest")),
    }
}

fn http() -> String {
    let request = OutgoingRequest::new();
    let set = request.set_authority(Some("example.com"));
    let answer = match outgoing_handler::handle(request) {
        Ok(_) => "answered",
        Err(ErrorCode::HttpRequestDenied) => "denied",
        Err(ErrorCode::DnsTimeout | ErrorCode::InternalError(_)) => "failed",
    };
    format!("set={} {answer}", set.is_ok())
}
