//! Probe types.

use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};

use super::node::{Setting, WAIT_TIMEOUT, ask, called, http_server, request};
use crate::plugin::CallError;
use crate::plugin::async_engine::AsyncPlugin;
use crate::plugin::config::Warm;
use crate::role::Role;
use crate::worlds::remarks::Warnings;

fn success(text: &str) -> ProbeOutcome {
    ProbeOutcome::Success(text.to_owned())
}

fn failure(text: &str) -> ProbeOutcome {
    ProbeOutcome::Failure(text.to_owned())
}

fn with_timeout(parameters: &str, milliseconds: u64) -> ProbeRequest {
    ProbeRequest { timeout: Duration::from_millis(milliseconds), ..request(parameters) }
}

/// The outcome's own text, whatever it is.
async fn text(guests: &Arc<AsyncPlugin>, parameters: &str) -> String {
    match ask(guests, parameters).await {
        Ok(ProbeOutcome::Success(text)) => format!("success: {text}"),
        Ok(ProbeOutcome::Warning(text)) => format!("warning: {text}"),
        Ok(ProbeOutcome::Failure(text)) => format!("failure: {text}"),
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test]
async fn outcomes_come_back_as_the_guest_gave_them() {
    let guests = Setting::default().prober();
    assert_eq!(guests.validate(Role::Probe).await.map_err(|error| error.sentence()), Ok(Warnings::default()));
    let cases = [
        (r#"{"do": "succeed", "text": "fine"}"#, "success: fine"),
        (r#"{"do": "warn", "text": "hm"}"#, "warning: hm"),
        (r#"{"do": "fail", "text": "no"}"#, "failure: no"),
        (r#"{"do": "error", "text": "can't say"}"#, "error: can't say"),
        (r#"{"do": "print"}"#, "success: "),
        (r#"{"do": "log-flood"}"#, "success: "),
    ];
    for (parameters, expected) in cases {
        assert_eq!(text(&guests, parameters).await, expected, "{parameters}");
    }
    let long = text(&guests, r#"{"do": "long-text"}"#).await;
    assert!(long.ends_with("x…") && long.len() < 11_000, "{}", long.len());
}

#[tokio::test]
async fn a_guest_sees_what_it_probes() {
    let guests = Setting::default().prober();
    assert_eq!(
        text(&guests, r#"{"do": "inspect"}"#).await,
        "success: default/web uid-1 main c0ffee 3 [\"127.0.0.1\"] [\"192.0.2.1\"] web=8080/TCP \
         ProbeKind::Readiness false Some(\"\\\"web\\\"\")"
    );
}

#[tokio::test]
async fn parameters_are_asked_about_once() {
    let guests = Setting::default().prober();
    let (good, bad): (Arc<str>, Arc<str>) = (r#"{"do": "succeed"}"#.into(), r#"{"do": ""}"#.into());
    assert_eq!(guests.checked(&good), None);
    assert!(guests.check_parameters(&good, Duration::ZERO).await.result.is_ok());
    match guests.check_parameters(&bad, Duration::ZERO).await.result {
        Err(CallError::Refused { words }) => assert_eq!(words, "nothing to do"),
        other => panic!("{other:?}"),
    }
    assert_eq!(guests.checked(&good), Some(Ok(())));
    assert_eq!(guests.checked(&bad), Some(Err("nothing to do".to_owned())));
}

#[tokio::test]
async fn a_configuration_is_refused_in_the_guest_s_words() {
    let guests = Setting { config: "\"refuse\"", ..Setting::default() }.prober();
    match guests.validate(Role::Probe).await {
        Err(CallError::Refused { words }) => assert_eq!(words, "I don't like this configuration"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_attack_has_its_name_and_the_next_call_is_served() {
    let guests = Setting::default().prober();
    type Named = fn(&CallError) -> bool;
    let cases: [(&str, Named); 6] = [
        ("trap", |error| matches!(error, CallError::Trap { message } if message.contains("unreachable"))),
        ("exit", |error| matches!(error, CallError::Exited { code: 1 | 3 })),
        ("memory-bomb", |error| matches!(error, CallError::OutOfMemory { limit: 16_777_216 })),
        ("recursion", |error| matches!(error, CallError::StackOverflow)),
        ("huge-text", |error| matches!(error, CallError::TooMuchData { .. })),
        ("no-such-behaviour", |error| matches!(error, CallError::Trap { .. })),
    ];
    for (behaviour, expected) in cases {
        match ask(&guests, &format!(r#"{{"do": "{behaviour}"}}"#)).await {
            Err(error) => assert!(expected(&error), "{behaviour}: {error:?}"),
            other => panic!("{behaviour}: {other:?}"),
        }
        assert_eq!(text(&guests, r#"{"do": "succeed", "text": "fine"}"#).await, "success: fine");
    }
}

#[tokio::test]
async fn a_busy_loop_is_cut_when_it_has_had_its_share() {
    let guests = Setting::default().prober();
    let called = called(&guests, with_timeout(r#"{"do": "loop"}"#, 2000)).await;
    // Which of the two is decided by what it got of the machine: the tables of `overtime` and `cpu_limit` have that.
    let result = called.result;
    assert!(matches!(result, Err(CallError::Timeout { .. } | CallError::Busy)), "{result:?}");
    assert!(called.memory_bytes_peak > 0);
}

/// The probe has failed in one of these words, or the machine was too busy to say whose fault it is, which `overtime`'s
/// table decides.
fn has_no_answer(result: Result<ProbeOutcome, CallError>, words: &[&str]) {
    let failed = |outcome: &ProbeOutcome| words.iter().any(|words| *outcome == failure(words));
    let as_expected = match &result {
        Ok(outcome) => failed(outcome),
        Err(error) => matches!(error, CallError::Busy),
    };
    assert!(as_expected, "{result:?}");
}

#[tokio::test]
async fn waiting_for_too_long_is_a_failure_and_costs_nothing() {
    let guests = Setting::default().prober();
    let asked = with_timeout(r#"{"do": "sleep", "milliseconds": 60000}"#, 300);
    has_no_answer(called(&guests, asked).await.result, &["no answer within 300ms"]);
}

#[tokio::test]
async fn a_probe_that_passes_too_late_has_failed() {
    let guests = Setting::default().prober();
    // Within the grace that a guest has to say why.
    let asked = with_timeout(r#"{"do": "sleep", "milliseconds": 320}"#, 300);
    has_no_answer(called(&guests, asked).await.result, &["no answer within 300ms"]);
}

#[tokio::test]
async fn many_probes_wait_at_once() {
    let guests = Setting::default().prober();
    let began = Instant::now();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let guests = guests.clone();
        waiting.spawn(async move { ask(&guests, r#"{"do": "sleep", "milliseconds": 500}"#).await });
    }
    while let Some(ended) = waiting.join_next().await {
        let ended = ended.expect("no panic");
        assert_eq!(ended.ok(), Some(success("")), "after {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_cancels_its_call() {
    let guests = Setting::default().prober();
    let slots = guests.machine.slots.clone();
    let asked = with_timeout(r#"{"do": "sleep", "milliseconds": 60000}"#, 60_000);
    let calling = called(&guests, asked);
    // Longer than it takes to begin, or it never began, which is as good.
    assert!(tokio::time::timeout(Duration::from_millis(200), calling).await.is_err());
    let name = Arc::downgrade(&guests.setting);
    drop(guests);
    let ended = async {
        while name.strong_count() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, ended).await.expect("the call lets its instance go");
    drop(slots);
}

#[tokio::test]
async fn commands_run_in_the_probed_container() {
    let guests = Setting::default().prober();
    let cases = [
        (r#"{"do": "exec", "command": ["cat", "/x"]}"#, "success: 7 c0ffee cat /x true"),
        (r#"{"do": "exec", "command": ["late"]}"#, "failure: the command timed out"),
        (r#"{"do": "exec", "command": ["missing"]}"#, "failure: ExecSync: not found: no such container"),
    ];
    for (parameters, expected) in cases {
        assert_eq!(text(&guests, parameters).await, expected, "{parameters}");
    }
    let long = text(&guests, r#"{"do": "exec", "command": ["long"]}"#).await;
    assert_eq!(long.matches('x').count(), 10_240 - "0 ".len(), "and the text with it is cut once more");
    let hanging = with_timeout(r#"{"do": "exec", "command": ["hang"]}"#, 500);
    has_no_answer(
        called(&guests, hanging).await.result,
        &["the command timed out", "no answer within 500ms"],
    );
    let guests = Setting { containers: None, ..Setting::default() }.prober();
    assert_eq!(
        text(&guests, r#"{"do": "exec", "command": ["cat"]}"#).await,
        "failure: there is no container runtime"
    );
}

#[tokio::test]
async fn http_goes_to_the_pod_and_nowhere_else() {
    let (port, _server) = http_server().await;
    let get = |host: &str, header: &str| {
        format!(r#"{{"do": "http", "host": "{host}", "port": {port}, "text": "{header}"}}"#)
    };
    let guests = Setting::granted(&["pod"]).prober();
    assert_eq!(
        text(&guests, &get("127.0.0.1", "")).await,
        format!("success: 200 GET /hello HTTP/1.1 | Host: 127.0.0.1:{port}")
    );
    assert_eq!(
        text(&guests, &get("127.0.0.1", "shop.example.com")).await,
        "success: 200 GET /hello HTTP/1.1 | Host: shop.example.com",
        "a guest may say which host it means"
    );
    for elsewhere in ["127.0.0.2", "169.254.169.254", "example.com", "localhost"] {
        let reported = text(&guests, &get(elsewhere, "")).await;
        assert!(reported.starts_with("failure: ") && reported.contains("grant"), "{elsewhere}: {reported}");
    }
    let ungranted = Setting::default().prober();
    let reported = text(&ungranted, &get("127.0.0.1", "")).await;
    assert!(reported.starts_with("failure: ") && reported.contains("grant"), "{reported}");
    let host = Setting::granted(&["probe-host"]).prober();
    let reported = text(&host, &get("127.0.0.1", "")).await;
    assert!(reported.starts_with("success: 200"), "the host that the parameters name: {reported}");
}

#[tokio::test]
async fn sockets_reach_the_pod_and_no_one_listens() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let at =
        |behaviour: &str, host: &str| format!(r#"{{"do": "{behaviour}", "host": "{host}", "port": {port}}}"#);
    let guests = Setting::granted(&["pod"]).prober();
    for behaviour in ["connect", "sdk-connect"] {
        assert_eq!(text(&guests, &at(behaviour, "127.0.0.1")).await, "success: ", "{behaviour}");
        let reported = text(&guests, &at(behaviour, "127.0.0.2")).await;
        assert!(reported.starts_with("failure: "), "{behaviour}: {reported}");
    }
    for behaviour in ["listen", "bind"] {
        let reported = text(&guests, &at(behaviour, "127.0.0.1")).await;
        assert_eq!(reported, "failure: permission denied", "{behaviour}");
    }
    let ungranted = Setting::default().prober();
    assert_eq!(text(&ungranted, &at("connect", "127.0.0.1")).await, "failure: permission denied");
}

#[tokio::test]
async fn datagrams_go_to_the_pod_by_the_same_grant() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let answering = std::thread::spawn(move || {
        let mut ping = [0; 16];
        let (length, from) = server.recv_from(&mut ping).expect("a datagram");
        server.send_to(&[&ping[..length], b" pong"].concat(), from).expect("it can be sent");
    });
    let at = |host: &str| format!(r#"{{"do": "datagram", "host": "{host}", "port": {port}}}"#);
    let guests = Setting::granted(&["pod"]).prober();
    let elsewhere = text(&guests, &at("127.0.0.2")).await;
    assert!(elsewhere.starts_with("failure: "), "{elsewhere}");
    assert_eq!(text(&guests, &at("127.0.0.1")).await, "success: ping pong");
    answering.join().expect("it answered");
}

#[tokio::test]
async fn sockets_are_counted() {
    let guests = Setting::granted(&["pod"]).prober();
    assert_eq!(text(&guests, r#"{"do": "hoard-sockets"}"#).await, "success: 64");
    assert_eq!(text(&guests, r#"{"do": "hoard-sockets"}"#).await, "success: 64", "and given back");
}

#[tokio::test]
async fn secrets_come_by_grant_and_name() {
    let secrets = [("password", "hunter2"), ("other", "hidden")];
    let secrets = secrets.map(|(name, value)| (name.to_owned(), Arc::from(value.as_bytes())));
    let mut setting = Setting { secrets: secrets.into(), ..Setting::default() };
    setting.grants.secrets = ["password".to_owned(), "gone".to_owned()].into();
    let guests = setting.prober();
    let get = |name: &str| format!(r#"{{"do": "secret", "text": "{name}"}}"#);
    assert_eq!(text(&guests, &get("password")).await, "success: hunter2");
    assert_eq!(text(&guests, &get("other")).await, "failure: not granted to the plugin");
    assert_eq!(text(&guests, &get("gone")).await, "failure: not found on the node");
}

#[tokio::test]
async fn without_a_grant_there_are_no_files() {
    let guests = Setting::default().prober();
    for parameters in [r#"{"do": "read", "text": "/etc/passwd"}"#, r#"{"do": "write", "text": "/state/x"}"#] {
        let reported = text(&guests, parameters).await;
        assert!(reported.starts_with("failure: "), "{reported}");
    }
}

#[tokio::test]
async fn warm_instances_are_used_again_and_retire() {
    let warm = Some(Warm { max: 2, uses: 3, idle: Duration::from_secs(60) });
    let guests = Setting { warm, ..Setting::default() }.prober();
    let mut counted = Vec::new();
    for _ in 0..5 {
        counted.push(text(&guests, r#"{"do": "count"}"#).await);
    }
    assert_eq!(
        counted,
        ["success: 0", "success: 1", "success: 2", "success: 0", "success: 1"],
        "three uses each"
    );
    assert_eq!(guests.warm(Role::Probe), 1);
    guests.shrink(Instant::now() + Duration::from_secs(61));
    assert_eq!(guests.warm(Role::Probe), 0, "idle for too long");
    assert_eq!(text(&guests, r#"{"do": "count"}"#).await, "success: 0");
    guests.retire();
    assert_eq!(guests.warm(Role::Probe), 0);
    assert_eq!(text(&guests, r#"{"do": "count"}"#).await, "success: 0", "a call that began before");
    assert_eq!(guests.warm(Role::Probe), 0, "leaves nothing behind");
}

#[tokio::test]
async fn an_instance_that_has_grown_or_holds_sockets_is_not_kept() {
    let warm = Some(Warm { max: 2, uses: 1000, idle: Duration::from_secs(60) });
    let guests = Setting { warm, ..Setting::default() }.prober();
    for _ in 0..12 {
        assert_eq!(text(&guests, r#"{"do": "hoard"}"#).await, "success: ", "never out of memory");
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let guests = Setting { warm, ..Setting::granted(&["pod"]) }.prober();
    let keep = format!(r#"{{"do": "keep-socket", "host": "127.0.0.1", "port": {port}}}"#);
    assert_eq!(text(&guests, &keep).await, "success: 1");
    assert_eq!(guests.warm(Role::Probe), 0);
    let connect = format!(r#"{{"do": "connect", "host": "127.0.0.1", "port": {port}}}"#);
    assert_eq!(text(&guests, &connect).await, "success: ");
    assert_eq!(guests.warm(Role::Probe), 1, "one that closed its sockets is");
}

#[tokio::test]
async fn an_instance_that_holds_another_pod_s_answer_is_not_kept() {
    let (port, _server) = http_server().await;
    let warm = Some(Warm { max: 2, uses: 1000, idle: Duration::from_secs(60) });
    let guests = Setting { warm, ..Setting::granted(&["pod"]) }.prober();
    let keep = format!(r#"{{"do": "keep-answer", "host": "127.0.0.1", "port": {port}}}"#);
    let get = format!(r#"{{"do": "http", "host": "127.0.0.1", "port": {port}}}"#);
    for _ in 0..2 {
        assert_eq!(text(&guests, &keep).await, "success: 1", "a fresh instance each time");
        assert_eq!(guests.warm(Role::Probe), 0);
    }
    for _ in 0..20 {
        assert!(text(&guests, &get).await.starts_with("success: 200"));
        assert_eq!(guests.warm(Role::Probe), 1, "one that read its answer is kept");
    }
}

#[tokio::test]
async fn what_a_warm_instance_reaches_is_the_present_pod() {
    let (port, _server) = http_server().await;
    let warm = Some(Warm { max: 1, uses: 1000, idle: Duration::from_secs(60) });
    let guests = Setting { warm, ..Setting::granted(&["pod"]) }.prober();
    let get = format!(r#"{{"do": "http", "host": "127.0.0.1", "port": {port}}}"#);
    let connect = format!(r#"{{"do": "connect", "host": "127.0.0.1", "port": {port}}}"#);
    for parameters in [&get, &connect] {
        let here = called(&guests, request(parameters)).await.result;
        assert!(matches!(here, Ok(ProbeOutcome::Success(_))), "{here:?}");
        let other_pod = ProbeRequest { pod_ips: vec![IpAddr::from([192, 0, 2, 9])], ..request(parameters) };
        let there = called(&guests, other_pod).await.result;
        assert!(matches!(there, Ok(ProbeOutcome::Failure(_))), "{there:?}");
    }
    assert_eq!(guests.warm(Role::Probe), 1);
}
