//! The runtime as a process: started once, killed, started again, ended.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};

use libtest_mimic::Trial;
use tokio::io::AsyncWriteExt;
use witlet_proto::cri::*;
use witlet_runtime::{Detached, SpawnError, Spawned, spawn_detached};

use crate::alone;
use crate::client::{Folders, PROGRAM, Runtime, eventually, program};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        alone("after_a_kill_containers_are_reported_lost_and_nothing_leaks", killed),
        alone("nothing_is_left_of_fifty_pods_with_commands_and_requests", churned),
        alone("a_runtime_that_is_asked_to_end_stops_its_workloads", ended),
        alone("only_its_owner_can_talk_to_a_runtime", private_socket),
        alone("a_detached_runtime_is_started_once_in_a_session_of_its_own", detached),
    ]
}

async fn killed() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let pod = runtime.pod().await;
    let running = runtime.run(&pod, "stubborn", program("stubborn", &[])).await;
    let over = runtime.run(&pod, "over", program("worker", &["3", "1", "1"])).await;
    let created = runtime.create(&pod, "created", program("worker", &[])).await.expect("a container");
    runtime.end(&over).await;
    runtime.says(&running, "still here").await;
    process.kill().expect("it runs");
    process.wait().expect("it ended");

    let (mut process, runtime) = folders.start().await;
    let status = runtime.sandbox_status(&pod.id).await.expect("it is remembered");
    assert_eq!(status.state(), PodSandboxState::SandboxNotready);
    assert_eq!(status.metadata, pod.config.metadata);
    assert_eq!(status.labels, pod.config.labels);
    let lost = runtime.status(&running).await.expect("it is remembered");
    assert_eq!((lost.state(), lost.exit_code), (ContainerState::ContainerExited, 137));
    assert_eq!(lost.reason, "ContainerStatusUnknown");
    assert!(lost.started_at > 0 && lost.finished_at >= lost.started_at, "{lost:?}");
    assert_eq!(runtime.status(&over).await.expect("it is remembered").exit_code, 3);
    let still = runtime.status(&created).await.expect("it is remembered");
    assert_eq!(still.state(), ContainerState::ContainerCreated);
    runtime.start(&created).await.expect_err("its sandbox isn't ready");

    // The images are still there, and a new sandbox of the pod works.
    let config = PodSandboxConfig {
        metadata: pod.config.metadata.clone().map(|metadata| PodSandboxMetadata { attempt: 1, ..metadata }),
        ..pod.config.clone()
    };
    let again = runtime.pod_of(config).await;
    assert!(again.address.starts_with("127.88."), "{}", again.address);
    assert_eq!(runtime.subject(&again, "subject", &["flood", "1"]).await.0, 0);
    for id in [&pod.id, &again.id] {
        runtime.remove_pod(id).await.expect("it is removed");
    }
    let left =
        |name: &str| std::fs::read_dir(folders.path(&format!("root/{name}"))).expect("a folder").count();
    assert_eq!((left("sandboxes"), left("containers")), (0, 0));
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}

/// One pod of everything: an init container, a handler, a program that waits, commands and requests under way.
async fn live(runtime: &Runtime, number: u32) {
    let pod = runtime.pod().await;
    let mounts = vec![
        runtime.folder_mount(&format!("churn-{number}"), "/data", false),
        runtime.file_mount(&format!("churn-{number}-message"), "/dev/termination-log", false),
    ];
    let with_mounts = |image: &str, arguments: &[&str]| {
        let mut one = program(image, arguments);
        one.mounts = mounts.clone();
        one
    };
    let init = runtime.run(&pod, "init", with_mounts("subject", &["append", "/data/note"])).await;
    assert_eq!(runtime.end(&init).await.exit_code, 0);
    let waiting = runtime.run(&pod, "waiting", with_mounts("subject", &["read-input"])).await;
    let handler = runtime.run(&pod, "handler", with_mounts("proxy", &[])).await;
    runtime.says(&handler, "serving HTTP").await;
    let mut client =
        tokio::net::TcpStream::connect((pod.address.as_str(), 8080)).await.expect("a connection");
    let request =
        if number.is_multiple_of(3) { "GET /spin HTTP/1.0\r\n\r\n" } else { "GET /never HTTP/1.0\r\n\r\n" };
    client.write_all(request.as_bytes()).await.expect("it is taken");
    let command = ["subject", if number.is_multiple_of(2) { "wait-forever" } else { "spin" }];
    let (ran, ()) = tokio::join!(runtime.exec(&waiting, &command, 600), async {
        let all_run = async || (runtime.programs(&pod.id).await >= 5).then_some(());
        eventually("all of it runs", all_run).await;
        if number.is_multiple_of(4) {
            runtime.stop(&waiting, 60).await.expect("it stops");
        }
        runtime.remove_pod(&pod.id).await.expect("it is removed");
    });
    assert_eq!(ran.expect("it ended with its container").exit_code, 137);
    assert_eq!(runtime.status(&handler).await.expect_err("it is gone").code(), tonic::Code::NotFound);
}

async fn churned() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let files = {
        let folder = format!("/proc/{}/fd", process.id());
        move || std::fs::read_dir(&folder).expect("it runs").count()
    };
    live(&runtime, 0).await;
    let before = files();
    for round in 0..5 {
        let pods = (1..=10).map(|number| live(&runtime, round * 10 + number));
        futures::future::join_all(pods).await;
    }
    eventually("all files are closed", async || (files() <= before).then_some(())).await;
    for name in ["sandboxes", "containers", "mounts"] {
        let left = std::fs::read_dir(folders.path("root").join(name)).expect("a folder").count();
        assert_eq!(left, 0, "{name}");
    }
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}

fn send_term(process_id: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(process_id).expect("an id")).expect("an id");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
}

/// Asks a runtime to end, and waits for that.
pub(crate) fn terminate(process: &mut std::process::Child) -> std::process::ExitStatus {
    send_term(process.id());
    process.wait().expect("it ended")
}

async fn ended() {
    // One that listens has as long as it takes; the other one's time passes.
    let long = witlet_harness::WAIT_TIMEOUT.as_secs().to_string();
    for (deed, says, grace, code) in
        [("read-input", "waiting", long.as_str(), 0), ("spin", "spinning", "1", 137)]
    {
        let folders = Folders::new();
        let (mut process, runtime) = folders.start_with(&[&long, grace]).await;
        let pod = runtime.pod().await;
        let id = runtime.run(&pod, deed, program("subject", &[deed])).await;
        runtime.says(&id, says).await;
        let status = terminate(&mut process);
        assert!(status.success(), "{deed}: {status}");
        assert!(!folders.socket().exists(), "{deed}: the socket is gone");

        let (mut process, runtime) = folders.start().await;
        let asked = runtime.status(&id).await.expect("it is remembered");
        assert_eq!((asked.exit_code, asked.reason == "Completed"), (code, code == 0), "{deed}");
        process.kill().expect("it runs");
        process.wait().expect("it ended");
    }
}

async fn private_socket() {
    let folders = Folders::new();
    let (mut process, _) = folders.start().await;
    let socket = std::fs::metadata(folders.socket()).expect("a socket");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600, "only its owner can talk to it");
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}

async fn detached() {
    let folders = Folders::new();
    let detached = Detached {
        program: PROGRAM.into(),
        arguments: folders.arguments().map(Into::into).into(),
        socket: folders.socket(),
        log_file: folders.path("logs/runtime.log"),
        ready_within: witlet_harness::WAIT_TIMEOUT,
    };
    let (one, other) = tokio::join!(spawn_detached(&detached), spawn_detached(&detached));
    let both = [one.expect("it is there"), other.expect("it is there")];
    let started: Vec<u32> = both
        .iter()
        .filter_map(|spawned| match spawned {
            Spawned::Started { process_id } => Some(*process_id),
            Spawned::WasRunning => None,
        })
        .collect();
    assert_eq!(spawn_detached(&detached).await.expect("it is there"), Spawned::WasRunning);
    Runtime::connect(&folders.socket(), folders.path("")).await;
    // Two may have been started at the same moment; one of them had to give way.
    let alive = async || {
        let mut alive = started.iter().filter(|id| session_of(**id).is_some());
        match (alive.next(), alive.next()) {
            (Some(id), None) => Some(*id),
            (None, _) | (_, Some(_)) => None,
        }
    };
    let id = eventually("one is left", alive).await;
    assert_eq!(session_of(id), Some(id), "it leads a session of its own");
    send_term(id);
    eventually("it ends", async || (!folders.socket().exists()).then_some(())).await;

    let broken = Detached { arguments: vec!["runtime".into()], ..detached };
    let error = spawn_detached(&broken).await.expect_err("it can't start");
    assert!(matches!(error, SpawnError::Ended { .. }), "{error}");
    let absent = Detached { program: "/not/there".into(), ..broken };
    let error = spawn_detached(&absent).await.expect_err("it can't start");
    assert!(matches!(error, SpawnError::Start { .. }), "{error}");
}

/// The session of a process that is alive, from `/proc`.
fn session_of(process_id: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let alive = fields.next()? != "Z";
    let session = fields.nth(2)?.parse().ok()?;
    alive.then_some(session)
}
