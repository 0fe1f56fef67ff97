//! The client against a server on a real socket: deadlines, sizes, lost connections, and pods that change while
//! they are checked.

use std::sync::Arc;
use std::time::Duration;

use crate::server::{Answers, Server};
use crate::{FixedClock, WAIT_TIMEOUT, options_at, runtime_at, soon};
use witlet_core::Timestamp;
use witlet_core::pod::PodUid;
use witlet_core::runtime::SandboxSpec;
use witlet_cri::{ConnectError, CriClient, connect};
use witlet_ports::RuntimeError;

#[test]
fn a_client_outside_of_tokio_is_an_error() {
    let error = connect("/run/x.sock", Arc::new(FixedClock)).err().expect("no tokio runtime here");
    assert!(matches!(error, ConnectError::NoTokioRuntime));
}

#[tokio::test]
async fn a_socket_that_is_not_there_is_unavailable_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = runtime_at(&folder.path().join("no.sock")).info.version().await.expect_err("no one there");
    let text = error.to_string();
    assert!(matches!(error, RuntimeError::Unavailable { .. }), "{text}");
    assert!(text.starts_with("Version: failed to reach the runtime at unix:///"), "{text}");
    assert!(
        text.contains("socket not found; start the runtime, or set --container-runtime-endpoint"),
        "{text}"
    );
}

#[tokio::test]
async fn a_socket_that_no_one_listens_on_is_unavailable_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dead.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bind"));
    let error = runtime_at(&path).info.version().await.expect_err("no one listens");
    assert!(matches!(error, RuntimeError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("connection refused"), "{error}");
}

#[tokio::test]
async fn the_runtime_introduces_itself() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    let version = runtime.info.version().await.expect("it answers");
    assert_eq!((version.runtime_name.as_str(), version.api_version.as_str()), ("scripted", "v1"));
    let status = runtime.info.status().await.expect("it answers");
    assert_eq!(status.failing("RuntimeReady"), None);
    assert_eq!(
        status.failing("NetworkReady").as_deref(),
        Some("NetworkReady=false reason:NoCni message:cni plugin not initialized")
    );
}

#[tokio::test]
async fn a_restarted_runtime_is_found_again_by_the_same_client() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    runtime.info.version().await.expect("it answers");
    let folder = server.stop();
    let error = runtime.info.version().await.expect_err("it was stopped");
    assert!(matches!(error, RuntimeError::Unavailable { .. }), "{error}");
    let server = Server::start_in(folder, Answers::default());
    runtime.info.version().await.expect("it answers again, with the first call");
    drop(server);
}

#[tokio::test]
async fn a_runtime_that_dies_in_the_middle_of_a_call_is_unavailable() {
    let server = Server::start(Answers { version_takes: Duration::from_hours(1), ..Answers::default() });
    let runtime = runtime_at(server.path());
    let asked = server.version_asked();
    let (error, _) = tokio::join!(runtime.info.version(), async {
        soon(asked.notified()).await;
        server.stop()
    });
    let error = error.expect_err("it died");
    assert!(matches!(error, RuntimeError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_with_its_limit() {
    let server = Server::start(Answers { version_takes: Duration::from_hours(1), ..Answers::default() });
    let (runtime, asked) = (runtime_at(server.path()), server.version_asked());
    let (answer, ()) = tokio::join!(runtime.info.version(), async {
        // Real time until the runtime was asked: the call's limit passes in no time then.
        soon(asked.notified()).await;
        tokio::time::pause();
        tokio::time::advance(WAIT_TIMEOUT + Duration::from_millis(1)).await;
    });
    tokio::time::resume();
    let error = answer.expect_err("it hangs");
    assert!(matches!(error, RuntimeError::DeadlineExceeded { .. }), "{error}");
    assert_eq!(error.to_string(), "Version: no response within 120s");
    runtime.info.status().await.expect("the connection is still good for other calls");
}

#[tokio::test]
async fn each_call_is_waited_for_as_long_as_its_kind_may_take() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    let (id, seconds) = ("c-stays".into(), Duration::from_secs);
    // The runtime gets a second more, so that the client gives up first.
    let reported = |call: &str, limit: u64| {
        let milliseconds = format!("{}m", (limit + 1) * 1000);
        assert_eq!(server.last_deadline(), Some(milliseconds), "{call}");
    };
    let _ = runtime.containers.start(&id).await;
    reported("whatever has no time of its own", 120);
    let _ = runtime.sandboxes.run(&SandboxSpec::default()).await;
    reported("a sandbox, whose pause image may have to be pulled", 240);
    let _ = runtime.containers.stop(&id, seconds(600)).await;
    reported("a stop, on top of its grace", 720);
    let _ = runtime.containers.exec_sync(&id, &[], Some(seconds(600))).await;
    reported("a command, with time to say that its own is over", 610);
    let _ = runtime.images.pull("private:1", None, &SandboxSpec::default()).await;
    reported("a pull", 3600);
}

#[tokio::test]
async fn the_image_service_may_be_elsewhere() {
    let (one, other) = (Server::start(Answers::default()), Server::start(Answers::default()));
    let mut options = options_at(one.path());
    options.image_endpoint = Some(other.path().to_str().expect("UTF-8").parse().expect("a socket path"));
    let runtime = CriClient::new(options, Arc::new(FixedClock)).expect("in tokio").into_runtime();
    let folder = one.stop();
    let image = runtime.images.status("present:1").await.expect("it answers").expect("it is there");
    assert_eq!(image.id, "sha256:present");
    assert!(runtime.info.version().await.is_err(), "the runtime service is stopped");
    drop(folder);
}

#[tokio::test]
async fn an_image_that_is_not_there_is_none_however_the_runtime_says_so() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    for absent in ["empty-answer:1", "not-found:1"] {
        assert_eq!(runtime.images.status(absent).await.expect(absent), None);
    }
}

#[tokio::test]
async fn lists_up_to_16_mib_arrive_and_larger_ones_are_named() {
    let server = Server::start(Answers { list_bytes: 15 << 20, ..Answers::default() });
    assert_eq!(runtime_at(server.path()).view.list_pods().await.expect("below the limit").len(), 1);
    let server = Server::start(Answers { list_bytes: 17 << 20, ..Answers::default() });
    let runtime = runtime_at(server.path());
    let error = runtime.view.list_pods().await.expect_err("above the limit");
    assert!(matches!(error, RuntimeError::TooLarge { call: "ListPodSandbox", .. }), "{error}");
    runtime.info.status().await.expect("the connection is still good for other calls");
}

#[tokio::test]
async fn what_vanishes_while_a_pod_is_checked_is_left_out() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    let pod = runtime.view.pod_status(&PodUid::from("u-1")).await.expect("vanishing is no error");
    let sandboxes: Vec<_> = pod.sandboxes.iter().map(|s| s.id.as_str()).collect();
    let containers: Vec<_> = pod.containers.iter().map(|c| c.id.as_str()).collect();
    assert_eq!((sandboxes, containers), (vec!["s-stays"], vec!["c-stays"]));
    assert_eq!((pod.name.as_str(), pod.namespace.as_str()), ("name", "namespace"));
    assert_eq!(pod.observed_at, Timestamp::UNIX_EPOCH);
    assert_eq!(format!("{:?}", pod.ips), "[10.1.2.3]");
}

#[tokio::test]
async fn a_pod_that_the_runtime_does_not_have_is_absent() {
    let server = Server::start(Answers::default());
    let pod = runtime_at(server.path()).view.pod_status(&PodUid::from("no-one")).await.expect("it answers");
    assert_eq!(pod, witlet_core::runtime::ObservedPod::absent(PodUid::from("no-one"), Timestamp::UNIX_EPOCH));
}

#[tokio::test]
async fn stopping_and_removing_what_is_not_there_succeeds_and_starting_it_fails() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    runtime.sandboxes.stop(&"gone".into()).await.expect("stopped");
    runtime.sandboxes.remove(&"gone".into()).await.expect("removed");
    runtime.containers.stop(&"gone".into(), Duration::from_millis(1500)).await.expect("stopped");
    assert_eq!(server.last_stop_timeout(), 2, "a started second of grace is granted");
    runtime.containers.remove(&"gone".into()).await.expect("removed");
    let error = runtime.containers.start(&"gone".into()).await.expect_err("there is nothing to start");
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test]
async fn a_call_that_the_runtime_lacks_is_named() {
    let server = Server::start(Answers::default());
    let runtime = runtime_at(server.path());
    let error = runtime.sandboxes.run(&SandboxSpec::default()).await.expect_err("not scripted");
    assert!(matches!(error, RuntimeError::Unimplemented { call: "RunPodSandbox", .. }), "{error}");
    assert_eq!(runtime.info.cgroup_driver().await.expect("older runtimes don't say"), None);
}
