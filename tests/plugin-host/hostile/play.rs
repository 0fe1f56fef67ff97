//! One attack: its plugin is asked until it is clear what comes of it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::{Instant, sleep};
use witlet_core::admission::{AdmissionRequest, Decision, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_harness::WAIT_TIMEOUT;
use witlet_test_guests::corpus::{Attack, Expected, Role};
use witlet_wasm::plugin::{PluginState, PluginStatus};

use crate::servers;
use crate::stage::{CANARY, Stage};

/// Polls that may have been counted before the clock of a test began.
const SLACK: Duration = Duration::from_secs(30);
/// How often one that isn't expected to be left alone is asked.
const CALLS: usize = 3;
/// One that is expected to be left alone is asked again after this long where the host couldn't ask or blame it.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// After this long the host's own word that the machine is too busy is taken: it blames no plugin for computing that got less
/// than a quarter of a processor, so on such a machine a quarantine may never come.
const BLAMED_WITHIN: Duration = Duration::from_secs(60);
/// How long a source has to be polled that isn't expected to be left alone.
const POLLED_FOR: Duration = Duration::from_secs(4);
/// The host polls no source sooner than after this.
const POLL_MIN: Duration = Duration::from_millis(100);
/// The host's words when it can't ask.
const BUSY: &str = "all instances are in use";
/// Its words of one that had no answer in time.
const LATE: &str = "no answer within";

/// Plays it. An error says what was otherwise than expected.
pub(crate) async fn play(stage: &Stage, attack: &'static Attack) -> Result<(), String> {
    let name = attack.name;
    let began = Instant::now();
    let tried = |stage: &Stage| stage.status(name).is_some_and(|status| is_tried(attack, &status, began));
    if !stage.until(tried).await {
        return Err(format!("it was never tried: {:#?}", stage.status(name)));
    }
    let status = status(stage, name)?;
    let detail = status.detail.clone().unwrap_or_default();
    let loaded = status.state != PluginState::Failed;
    match attack.expected {
        Expected::Refused(_) if loaded => return Err(format!("it was loaded: {status:?}")),
        Expected::Refused(_) if detail.contains(BUSY) => return check_text(&detail),
        Expected::Refused(words) => {
            let missing = words.iter().find(|words| !detail.contains(**words));
            return match missing {
                Some(words) => Err(format!("{words:?} isn't in {detail:?}")),
                None => check_text(&detail),
            };
        }
        Expected::Bounded if !loaded => return check_text(&detail),
        Expected::Fails(_) | Expected::Tells(_) if detail.contains(BUSY) || detail.contains(LATE) => {
            return check_text(&detail);
        }
        Expected::Fails(_) | Expected::Tells(_) if !loaded => return Err(format!("not loaded: {detail}")),
        Expected::Fails(_) | Expected::Tells(_) | Expected::Bounded => {}
    }
    match attack.role {
        Role::Admission | Role::Probe => ask(stage, attack).await,
        Role::PodSource => watch(stage, attack).await,
    }
}

/// Whether it was asked for so long that the host's word for a busy machine ends it.
fn is_long_ago(began: Instant) -> bool {
    began.elapsed() > BLAMED_WITHIN
}

/// Whether it was tried to be loaded, and that isn't tried again because the machine was busy.
fn is_tried(attack: &Attack, status: &PluginStatus, began: Instant) -> bool {
    let detail = status.detail.as_deref().unwrap_or_default();
    match (status.state, attack.expected) {
        (PluginState::Loading, _) => false,
        (PluginState::Failed, Expected::Fails(_) | Expected::Tells(_)) => {
            !(detail.contains(BUSY) || detail.contains(LATE)) || is_long_ago(began)
        }
        (PluginState::Failed, Expected::Refused(_)) => !detail.contains(BUSY) || is_long_ago(began),
        (PluginState::Failed | PluginState::Ready | PluginState::Quarantined, _) => true,
    }
}

/// No plugin reported what no plugin may know.
fn check_secrets(text: &str) -> Result<(), String> {
    if text.contains(CANARY) || text.contains("root:x:0") {
        return Err(format!("it read what it mustn't: {text}"));
    }
    Ok(())
}

/// Besides, what the host says drives no terminal.
fn check_text(text: &str) -> Result<(), String> {
    check_secrets(text)?;
    if text.chars().any(char::is_control) {
        return Err(format!("what it says has control characters: {text:?}"));
    }
    Ok(())
}

fn status(stage: &Stage, name: &str) -> Result<PluginStatus, String> {
    stage.status(name).ok_or_else(|| "it isn't listed any more".to_owned())
}

/// Asks a handler or a probe type again and again.
async fn ask(stage: &Stage, attack: &'static Attack) -> Result<(), String> {
    let began = Instant::now();
    let mut calls = 0;
    let more = |calls: usize| match attack.expected {
        Expected::Fails(_) => began.elapsed() < WAIT_TIMEOUT,
        Expected::Refused(_) | Expected::Tells(_) | Expected::Bounded => calls < CALLS,
    };
    while more(calls) {
        calls += 1;
        let said = tokio::time::timeout(WAIT_TIMEOUT, say(stage, attack)).await;
        let said = said.map_err(|_| format!("no answer within {WAIT_TIMEOUT:?}"))?;
        check_secrets(&said)?;
        let now = status(stage, attack.name)?;
        check_text(now.last_error.as_deref().unwrap_or_default())?;
        match attack.expected {
            Expected::Fails(words) => {
                if said.contains(BUSY) && is_long_ago(began) {
                    return Ok(());
                }
                if said.contains(BUSY) {
                    sleep(AGAIN_AFTER).await;
                    continue;
                }
                if !said.contains(words) {
                    return Err(format!("{words:?} isn't in {said:?}"));
                }
                if now.state == PluginState::Quarantined {
                    return left_alone(stage, attack).await;
                }
            }
            Expected::Tells(words) if !said.contains(words) && !said.contains(BUSY) => {
                return Err(format!("{words:?} isn't in {said:?}"));
            }
            Expected::Tells(_) if now.state != PluginState::Ready => {
                return Err(format!("it is in quarantine after {said:?}"));
            }
            Expected::Tells(_) | Expected::Bounded | Expected::Refused(_) => {}
        }
    }
    match attack.expected {
        Expected::Fails(_) => Err(format!("never in quarantine: {:?}", status(stage, attack.name)?)),
        Expected::Tells(_) | Expected::Bounded | Expected::Refused(_) => Ok(()),
    }
}

/// In quarantine it isn't asked, and the reason was reported under its name.
async fn left_alone(stage: &Stage, attack: &'static Attack) -> Result<(), String> {
    notified_of_quarantine(stage, attack).await?;
    let calls = status(stage, attack.name)?.calls();
    let said = say(stage, attack).await;
    let after = status(stage, attack.name)?;
    // A machine that is very busy may have let the whole quarantine pass.
    if after.calls() > calls && after.state == PluginState::Quarantined {
        return Err(format!("it was asked in quarantine: {said}"));
    }
    Ok(())
}

async fn notified_of_quarantine(stage: &Stage, attack: &Attack) -> Result<(), String> {
    let Expected::Fails(words) = attack.expected else { return Ok(()) };
    let reported = |stage: &Stage| {
        let events = stage.events.about(attack.name);
        events.iter().any(|(reason, message)| reason == "PluginQuarantined" && message.contains(words))
    };
    // The event may come a moment after the state.
    if stage.until(reported).await {
        return Ok(());
    }
    Err(format!("no event says why it is in quarantine: {:?}", stage.events.about(attack.name)))
}

/// What the agent gets when it asks.
async fn say(stage: &Stage, attack: &'static Attack) -> String {
    let name = attack.name;
    match attack.role {
        Role::Admission => match stage.host.admission().admit(request(name)).await {
            Decision::Reject { reason, message, .. } => format!("{reason}: {message}"),
            Decision::Defer { message, .. } if message.contains(name) => message,
            other => format!("{other:?}"),
        },
        Role::Probe => {
            let timeout = Duration::from_millis(attack.timeout.into());
            match stage.host.probes().probe(&probe(name, timeout)).await {
                Ok(
                    ProbeOutcome::Success(text) | ProbeOutcome::Warning(text) | ProbeOutcome::Failure(text),
                ) => text,
                Err(error) => error.to_string(),
            }
        }
        Role::PodSource => String::new(),
    }
}

/// Checks a source that the host polls by itself.
async fn watch(stage: &Stage, attack: &'static Attack) -> Result<(), String> {
    let name = attack.name;
    let began = Instant::now();
    match attack.expected {
        Expected::Fails(words) => {
            let quarantined = |stage: &Stage| {
                stage.status(name).is_some_and(|status| status.state == PluginState::Quarantined)
            };
            // A poll that is no plugin's fault leaves no error.
            let no_blame = |stage: &Stage| {
                let status = stage.status(name);
                status.is_some_and(|status| status.calls() > 0 && status.last_error.is_none())
            };
            let ended = |stage: &Stage| quarantined(stage) || (is_long_ago(began) && no_blame(stage));
            if !stage.until(ended).await {
                return Err(format!("never in quarantine: {:?}", status(stage, name)?));
            }
            let error = status(stage, name)?.last_error.unwrap_or_default();
            let is_blamed = quarantined(stage) || !error.is_empty();
            if is_blamed && !error.contains(words) {
                return Err(format!("{words:?} isn't in {error:?}"));
            }
            if quarantined(stage) {
                notified_of_quarantine(stage, attack).await?;
            }
        }
        Expected::Tells(words) => {
            let says = |stage: &Stage| {
                stage
                    .events
                    .about(name)
                    .iter()
                    .any(|(reason, message)| reason.contains(words) || message.contains(words))
            };
            if !stage.until(says).await {
                let (events, status) = (stage.events.about(name), status(stage, name)?);
                return Err(format!("{words:?} isn't in {events:?}; {status:?}"));
            }
            if status(stage, name)?.state != PluginState::Ready {
                return Err("it is in quarantine".to_owned());
            }
        }
        Expected::Bounded | Expected::Refused(_) => sleep(POLLED_FOR).await,
    }
    let calls = status(stage, name)?.calls();
    // Those that began before this did count too.
    let most = (began.elapsed() + SLACK).as_millis() / POLL_MIN.as_millis();
    if u128::from(calls) > most {
        return Err(format!("it was polled {calls} times in {:?}", began.elapsed()));
    }
    for (_, message) in stage.events.about(name) {
        check_text(&message)?;
    }
    Ok(())
}

/// A question about a pod in this namespace.
pub(crate) fn request(namespace: &str) -> AdmissionRequest {
    AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(pod(namespace)),
        old_pod: None,
        image: None,
        source: SourceName::file(),
        node: Arc::new(NodeFacts { name: "node-1".to_owned(), ..NodeFacts::default() }),
        other_pods: Arc::new([]),
    }
}

/// A probe of this type.
pub(crate) fn probe(probe_type: &str, timeout: Duration) -> ProbeRequest {
    ProbeRequest {
        probe_type: probe_type.into(),
        parameters: "null".into(),
        pod: Arc::new(pod("default")),
        container: "main".to_owned(),
        container_id: ContainerId::from("c0ffee"),
        restarts: 0,
        pod_ips: vec![servers::POD],
        host_ips: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        kind: ProbeKind::Readiness,
        timeout,
    }
}

fn pod(namespace: &str) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some("web".to_owned()),
            namespace: Some(namespace.to_owned()),
            uid: Some("uid-of-web".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "main".to_owned(),
                image: Some("registry.example.com/app:1.2".to_owned()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}
