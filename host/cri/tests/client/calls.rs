//! The client's calls on containers and images against a server on a real socket: what is asked, what comes back, and
//! what ends a call early.

use std::time::Duration;

use crate::server::{Answers, Events, Server};
use crate::{runtime_at, soon};
use tokio::sync::mpsc;
use witlet_core::runtime::{ImageAuth, LinuxResources, RuntimeEvent, SandboxSpec};
use witlet_ports::RuntimeError;

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn a_command_gives_its_output_and_its_exit_code() {
    let server = Server::start(Answers::default());
    let containers = runtime_at(server.path()).containers;
    let id = "c-stays".into();
    let exec = |timeout| containers.exec_sync(&id, &[], timeout);
    for (timeout, sent) in [
        (None, 0),
        (Some(Duration::from_secs(7)), 7),
        (Some(Duration::from_millis(1001)), 2),
        (Some(Duration::from_millis(1)), 1),
    ] {
        let output = exec(timeout).await.expect("it ends");
        assert_eq!(output.exit_code, sent, "the server gives the timeout it got for {timeout:?}");
    }
    let output = containers.exec_sync(&id, &words(&["ls", "-l"]), None).await.expect("it ends");
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"ls -l"[..], &[0xff][..]));
}

#[tokio::test]
async fn a_command_whose_time_is_over_says_so_with_its_own_time() {
    let server = Server::start(Answers::default());
    let containers = runtime_at(server.path()).containers;
    let second = Duration::from_secs(1);
    let error = containers.exec_sync(&"c-stays".into(), &words(&["slow"]), Some(second)).await;
    let error = error.expect_err("the runtime killed it");
    assert!(
        matches!(error, RuntimeError::DeadlineExceeded { call: "ExecSync", limit } if limit == second),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "ExecSync: no response within 1s");
}

#[tokio::test]
async fn a_command_in_what_is_not_there_is_not_found() {
    let server = Server::start(Answers::default());
    let error = runtime_at(server.path()).containers.exec_sync(&"gone".into(), &[], None).await;
    let error = error.expect_err("there is nothing to run it in");
    assert!(matches!(error, RuntimeError::NotFound { call: "ExecSync", .. }), "{error}");
}

#[tokio::test]
async fn output_above_the_limit_is_named_and_long_errors_are_cut() {
    let server = Server::start(Answers::default());
    let containers = runtime_at(server.path()).containers;
    let error = containers.exec_sync(&"c-stays".into(), &words(&["flood"]), None).await.expect_err("17 MiB");
    assert!(matches!(error, RuntimeError::TooLarge { call: "ExecSync", .. }), "{error}");
    let error = containers.exec_sync(&"c-stays".into(), &words(&["broken"]), None).await.expect_err("broken");
    assert!(error.to_string().len() < 10_000, "{} bytes", error.to_string().len());
}

#[tokio::test]
async fn giving_a_call_up_cancels_it_at_the_runtime() {
    let server = Server::start(Answers::default());
    let containers = runtime_at(server.path()).containers;
    let (begun, cancelled) = (server.exec_begun(), server.exec_cancelled());
    let command = words(&["hang"]);
    let id = "c-stays".into();
    tokio::select! {
        answer = containers.exec_sync(&id, &command, None) => panic!("it hangs, and answered {answer:?}"),
        () = soon(begun.notified()) => {}
    }
    soon(cancelled.notified()).await;
    containers.exec_sync(&id, &[], None).await.expect("the connection is still good for other calls");
}

#[tokio::test]
async fn an_update_of_limits_names_only_what_changes() {
    let server = Server::start(Answers::default());
    let resources = LinuxResources { cpu_shares: 512, ..LinuxResources::default() };
    runtime_at(server.path())
        .containers
        .update_resources(&"c-stays".into(), &resources)
        .await
        .expect("updated");
    let sent = server.last_update().expect("it arrived");
    let linux = sent.linux.expect("always set");
    assert_eq!((sent.container_id.as_str(), linux.cpu_shares), ("c-stays", 512));
    let named = (linux.cpu_quota, linux.cpu_period, linux.memory_limit_in_bytes, linux.oom_score_adj);
    assert_eq!(named, (0, 0, 0, 0), "0 leaves a limit alone");
}

#[tokio::test]
async fn a_log_is_reopened_if_its_container_is_there() {
    let server = Server::start(Answers::default());
    let containers = runtime_at(server.path()).containers;
    containers.reopen_log(&"c-stays".into()).await.expect("reopened");
    let error = containers.reopen_log(&"gone".into()).await.expect_err("there is no such log");
    assert!(matches!(error, RuntimeError::NotFound { call: "ReopenContainerLog", .. }), "{error}");
}

#[tokio::test]
async fn a_pull_shows_its_credentials() {
    let server = Server::start(Answers::default());
    let images = runtime_at(server.path()).images;
    let sandbox = SandboxSpec::default();
    let auth = |password: &str| ImageAuth {
        username: "u".to_owned(),
        password: password.to_owned(),
        ..ImageAuth::default()
    };
    assert_eq!(
        images.pull("private:1", Some(&auth("p")), &sandbox).await.expect("allowed"),
        "sha256:private"
    );
    for refused in [None, Some(auth("wrong"))] {
        let error = images.pull("private:1", refused.as_ref(), &sandbox).await.expect_err("refused");
        assert_eq!(error.to_string(), "PullImage: 401 Unauthorized");
    }
    let error = images.pull("unknown:1", None, &sandbox).await.expect_err("unknown");
    assert!(error.is_not_found(), "{error}");
    let error = images.pull("nameless:1", None, &sandbox).await.expect_err("it has no reference");
    assert!(matches!(error, RuntimeError::Malformed { call: "PullImage", .. }), "{error}");
}

/// What is reported, and how it ends.
async fn reported(events: Events) -> (Vec<String>, Result<(), RuntimeError>) {
    let server = Server::start(Answers { events, ..Answers::default() });
    let view = runtime_at(server.path()).view;
    let (sender, mut receiver) = mpsc::channel::<RuntimeEvent>(8);
    let ended = soon(view.events(sender)).await;
    let mut reported = Vec::new();
    while let Some(event) = receiver.recv().await {
        reported.push(format!("{} {}", event.uid.expect("the server says"), event.id));
    }
    (reported, ended)
}

#[tokio::test]
async fn events_are_reported_until_the_runtime_ends_them() {
    let (reported_events, ended) = reported(Events::ThenEnd(vec!["c-1", "c-2"])).await;
    assert_eq!(reported_events, ["u-1 c-1", "u-1 c-2"]);
    ended.expect("an end is no failure");
    let (reported_events, ended) = reported(Events::ThenFail(vec!["c-1"])).await;
    assert_eq!(reported_events, ["u-1 c-1"]);
    assert_eq!(ended.expect_err("it broke").to_string(), "GetContainerEvents: the stream broke");
    let (reported_events, ended) = reported(Events::Unimplemented).await;
    assert!(reported_events.is_empty());
    let error = ended.expect_err("older runtimes have no events");
    assert!(matches!(error, RuntimeError::Unimplemented { call: "GetContainerEvents", .. }), "{error}");
}

#[tokio::test]
async fn no_one_listening_ends_events_even_of_a_runtime_that_says_nothing() {
    for events in [Events::Silent, Events::ThenQuiet(Vec::new()), Events::ThenQuiet(vec!["c-1"])] {
        let server = Server::start(Answers { events, ..Answers::default() });
        let view = runtime_at(server.path()).view;
        let (sender, receiver) = mpsc::channel(8);
        let (ended, ()) = soon(async {
            tokio::join!(view.events(sender), async {
                tokio::task::yield_now().await;
                drop(receiver);
            })
        })
        .await;
        ended.expect("that is no failure");
    }
}

#[tokio::test]
async fn a_runtime_without_events_for_hours_is_waited_for() {
    let server = Server::start(Answers { events: Events::Silent, ..Answers::default() });
    let (view, asked) = (runtime_at(server.path()).view, server.events_asked());
    let (sender, _receiver) = mpsc::channel(8);
    tokio::select! {
        ended = view.events(sender) => panic!("it ended by itself: {ended:?}"),
        // Sockets take real time; hours pass only once nothing is on its way any more.
        () = async {
            soon(asked.notified()).await;
            tokio::time::pause();
            tokio::time::sleep(Duration::from_hours(5)).await;
        } => {}
    }
}
