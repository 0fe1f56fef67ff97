//! A pod source that does what its configuration says: `{"do": …}` with the name of a behaviour, and what that needs.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

use std::io::Write as _;
use std::time::Duration;

use serde::Deserialize;
use witlet_plugin_sdk::source::{PodSource, PodStatus, Poll, Snapshot, SourceError, StatusFeedback};
use witlet_plugin_sdk::{Error, export_pod_source, export_status_feedback};

struct Sourcer;

/// What to do.
#[derive(Deserialize)]
struct Config {
    #[serde(rename = "do")]
    behaviour: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    count: usize,
}

impl PodSource for Sourcer {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        match config.behaviour.as_str() {
            "refuse" => Err(Error::nothing_found("I don't like this configuration")),
            _ => Ok(()),
        }
    }

    fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        let text = config.text.clone();
        match config.behaviour.as_str() {
            "pods" => Ok(Poll::all(vec![text; config.count.max(1)])),
            "empty" => Ok(Poll::all(Vec::new())),
            "unchanged" => Ok(Poll::unchanged()),
            "no-pods" => Ok(answer(Snapshot::Pods(Vec::new()))),
            "cursor" => {
                let polls = cursor.map_or(0, |cursor| cursor.parse().unwrap_or(0)) + 1;
                Ok(Poll::all(vec![polls.to_string()]).with_cursor(polls.to_string()).again_after(SOON))
            }
            "long-cursor" => Ok(Poll::unchanged().with_cursor("c".repeat(5000))),
            "error" => Err(SourceError::new("Unavailable", text).retry_after(SOON)),
            "bad-error" => Err(SourceError::new("not a word", text)),
            "trap" => fall(),
            "loop" => spin(),
            "sleep" => {
                doze();
                Ok(Poll::unchanged())
            }
            "read" => read(&text),
            "write" => match std::fs::write(&text, "written") {
                Ok(()) => read(&text),
                Err(error) => Err(unavailable(&error)),
            },
            "count-in-state" => {
                let polls = std::fs::read_to_string("/state/polls").unwrap_or_default() + "x";
                std::fs::write("/state/polls", &polls).map_err(|error| unavailable(&error))?;
                Ok(Poll::all(vec![polls]))
            }
            "reported" => read("/state/reported"),
            "fill" => fill("/state/filled", config.count as u64),
            "fill-for-ever" => fill("/state/filled", u64::MAX),
            "litter" => litter(config.count),
            "clear-up" => clear_up(),
            other => Err(SourceError::new("Unknown", format!("unknown instruction: {other}"))),
        }
    }
}

impl StatusFeedback for Sourcer {
    fn statuses(changed: &[PodStatus], config: &Config) -> Result<(), Error> {
        if config.behaviour == "refuse-statuses" {
            return Err(Error::nothing_found("I don't want to know"));
        }
        let reported: Vec<String> = changed
            .iter()
            .map(|pod| format!("{}/{} {} {:?}", pod.namespace, pod.name, pod.uid, pod.status))
            .collect();
        std::fs::write("/state/reported", reported.join("\n"))
            .map_err(|error| Error::nothing_found(error.to_string()))
    }
}

export_pod_source!(Sourcer);
export_status_feedback!(Sourcer);

const SOON: Duration = Duration::from_millis(250);

fn answer(snapshot: Snapshot) -> Poll {
    Poll { snapshot, cursor: None, next_poll_milliseconds: None }
}

fn read(path: &str) -> Result<Poll, SourceError> {
    std::fs::read_to_string(path).map(|text| Poll::all(vec![text])).map_err(|error| unavailable(&error))
}

/// Writes as many MiB.
fn fill(path: &str, mebibytes: u64) -> Result<Poll, SourceError> {
    let mut file = std::fs::File::create(path).map_err(|error| unavailable(&error))?;
    let piece = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        file.write_all(&piece).map_err(|error| unavailable(&error))?;
    }
    Ok(Poll::unchanged())
}

/// Makes as many files.
fn litter(count: usize) -> Result<Poll, SourceError> {
    for number in 0..count {
        std::fs::write(format!("/state/{number}"), "").map_err(|error| unavailable(&error))?;
    }
    Ok(Poll::unchanged())
}

fn clear_up() -> Result<Poll, SourceError> {
    for entry in std::fs::read_dir("/state").map_err(|error| unavailable(&error))? {
        entry.and_then(|entry| std::fs::remove_file(entry.path())).map_err(|error| unavailable(&error))?;
    }
    Ok(Poll::unchanged())
}

fn unavailable(error: &std::io::Error) -> SourceError {
    SourceError::new("Unavailable", error.kind().to_string())
}

#[allow(clippy::panic, reason = "it is the attack")]
fn fall() -> ! {
    panic!("I fall")
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

#[allow(clippy::disallowed_methods, reason = "it is the attack")]
fn doze() {
    std::thread::sleep(Duration::from_secs(60));
}
