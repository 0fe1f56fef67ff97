//! A plugin of all three roles that says which version of it was asked: in verdicts, in pods that it brings, and in a
//! datagram to a loopback port at each call that may wait.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::source::{PodSource, Poll, Snapshot, SourceError};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{
    AdmissionHandler, Error, Request, Verdict, export_admission, export_pod_source, export_probe, net,
};

/// The annotation of pods that are to be rejected by the version that is asked.
const REJECTS: &str = "witness.example.com/tell";

/// Where a source finds what to do.
const SCRIPT: &str = "/script/now.json";

/// How long a datagram may take to leave.
const SEND_TIME: Duration = Duration::from_secs(1);

struct Witness;

/// What stands under `config:`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Config {
    version: u64,
    /// Where datagrams go.
    port: Option<u16>,
    /// Rejects every pod.
    #[serde(default)]
    rejects: bool,
}

/// What a probe is to do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Parameters {
    /// Computes for so long before it succeeds; for ever if it is 0.
    spin_milliseconds: Option<u64>,
}

/// What a source is to do.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
enum Script {
    /// Brings each text so often, with the number for `{n}` and the version for `{version}`.
    Bring {
        texts: Vec<String>,
        times: usize,
    },
    Empty,
    Fail {
        reason: String,
        message: String,
    },
    /// An answer that the contract doesn't have: a set of no pods.
    NoPods,
    Trap,
    Spin,
    /// One text of so many bytes.
    Long {
        bytes: usize,
    },
    Hoard,
}

impl AdmissionHandler for Witness {
    type Config = Config;

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        let reported = config.rejects || request.pod().annotation(REJECTS).is_some();
        Ok(if reported {
            Verdict::reject(format!("Version{}", config.version), "the witness tells its version")
        } else {
            Verdict::Admit
        })
    }
}

impl ProbeType for Witness {
    type Config = Config;
    type Parameters = Parameters;

    fn probe(target: &Target<'_>, parameters: &Parameters, config: &Config) -> Result<Outcome, Error> {
        let began = now();
        let spin = parameters.spin_milliseconds.map(Duration::from_millis);
        if let Some(time) = spin {
            let deadline = Deadline::after(time);
            while time.is_zero() || !deadline.left().is_zero() {
                std::hint::spin_loop();
            }
        }
        tell(config, began, &format!("{}/{}", target.pod().name, target.container()))?;
        Ok(Outcome::Success(format!("version {}", config.version)))
    }
}

impl PodSource for Witness {
    type Config = Config;

    fn poll(_: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        let began = now();
        let unavailable = |message: String| SourceError::new("Unavailable", message);
        let script = std::fs::read_to_string(SCRIPT).map_err(|error| unavailable(error.to_string()))?;
        let script: Script = serde_json::from_str(&script).map_err(|error| unavailable(error.to_string()))?;
        let reported = tell(config, began, "source");
        reported.map_err(|error| unavailable(error.to_string()))?;
        play(script, config)
    }
}

export_admission!(Witness);
export_probe!(Witness);
export_pod_source!(Witness);

#[allow(clippy::panic, reason = "it is one of the things that a source may do")]
fn play(script: Script, config: &Config) -> Result<Poll, SourceError> {
    match script {
        Script::Bring { texts, times } => {
            let version = config.version.to_string();
            let bring = |n: usize| {
                let version = &version;
                texts
                    .iter()
                    .map(move |text| text.replace("{n}", &n.to_string()).replace("{version}", version))
            };
            Ok(Poll::all((0..times).flat_map(bring).collect()))
        }
        Script::Empty => Ok(Poll::all(Vec::new())),
        Script::Fail { reason, message } => Err(SourceError::new(reason, message)),
        Script::NoPods => {
            Ok(Poll { snapshot: Snapshot::Pods(Vec::new()), cursor: None, next_poll_milliseconds: None })
        }
        Script::Trap => panic!("the witness falls"),
        Script::Spin => loop {
            std::hint::spin_loop();
        },
        Script::Long { bytes } => Ok(Poll::all(vec!["x".repeat(bytes)])),
        Script::Hoard => {
            let mut hoard: Vec<Vec<u8>> = Vec::new();
            loop {
                hoard.push(vec![1; 1 << 20]);
                std::hint::black_box(&hoard);
            }
        }
    }
}

/// Sends which version was asked when by whom, if a server listens.
fn tell(config: &Config, began: u128, who: &str) -> Result<(), Error> {
    let Some(port) = config.port else { return Ok(()) };
    let deadline = Deadline::after(SEND_TIME);
    let mut socket = net::UdpSocket::connect("127.0.0.1", port, deadline)?;
    socket.send(format!("{} {began} {who}", config.version).as_bytes(), deadline)?;
    Ok(())
}

/// Nanoseconds since 1970, on the clock of the host.
#[allow(clippy::disallowed_methods, reason = "the clocks of a guest are its host's")]
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
