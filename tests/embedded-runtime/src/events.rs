//! What the runtime reports by itself.

use libtest_mimic::Trial;
use tonic::Code;
use witlet_proto::cri::*;

use crate::alone;
use crate::client::{Folders, program};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        alone("every_change_is_reported_with_the_pod_as_it_is_then", reported),
        alone("who_does_not_read_events_is_sent_away", slow_reader),
    ]
}

async fn reported() {
    use ContainerEventType::{
        ContainerCreatedEvent as Created, ContainerDeletedEvent as Deleted, ContainerStartedEvent as Started,
        ContainerStoppedEvent as Stopped,
    };
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let events = runtime.pods.clone().get_container_events(GetEventsRequest {}).await.expect("a stream");
    let mut events = events.into_inner();
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "job", program("worker", &["3", "1", "1"])).await;
    runtime.end(&id).await;
    let mut absent = program("subject", &["show"]);
    absent.mounts = vec![Mount {
        container_path: "/x".to_owned(),
        host_path: "/not/there".to_owned(),
        ..Default::default()
    }];
    let broken = runtime.run(&pod, "broken", absent).await;
    runtime.remove_pod(&pod.id).await.expect("it is removed");

    let mut removed = [id.clone(), broken.clone()];
    removed.sort();
    let (ready, not_ready) = (PodSandboxState::SandboxReady, PodSandboxState::SandboxNotready);
    let (created, running, exited) =
        (ContainerState::ContainerCreated, ContainerState::ContainerRunning, ContainerState::ContainerExited);
    let expected = [
        (Created, &pod.id, Some(ready), vec![]),
        (Started, &pod.id, Some(ready), vec![]),
        (Created, &id, Some(ready), vec![created]),
        (Started, &id, Some(ready), vec![running]),
        (Stopped, &id, Some(ready), vec![exited]),
        (Created, &broken, Some(ready), vec![created, exited]),
        (Stopped, &broken, Some(ready), vec![exited, exited]),
        (Stopped, &pod.id, Some(not_ready), vec![exited, exited]),
        (Deleted, &removed[0], Some(not_ready), vec![exited]),
        (Deleted, &removed[1], Some(not_ready), vec![]),
        (Deleted, &pod.id, None, vec![]),
    ];
    let mut last = 0;
    for (kind, of, sandbox, containers) in expected {
        let event =
            tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, events.message()).await.expect("in time");
        let event = event.expect("no error").expect("an event");
        assert_eq!((event.container_event_type(), &event.container_id), (kind, of));
        assert_eq!(event.pod_sandbox_status.as_ref().map(PodSandboxStatus::state), sandbox, "{kind:?}");
        let mut states: Vec<_> = event.containers_statuses.iter().map(ContainerStatus::state).collect();
        states.sort();
        assert_eq!(states, containers, "{kind:?}");
        assert!(event.created_at >= last, "in their order");
        last = event.created_at;
        if kind == Stopped && *of == id {
            assert_eq!(event.containers_statuses[0].exit_code, 3);
        }
    }
    // The end of the runtime isn't held up by who listens.
    let ended = crate::process::terminate(&mut process);
    assert!(ended.success(), "{ended}");
    assert_eq!(events.message().await.expect("a clean end"), None);
}

async fn slow_reader() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let listen = async || runtime.pods.clone().get_container_events(GetEventsRequest {}).await;
    let mut slow = listen().await.expect("a stream").into_inner();
    let mut config = runtime.sandbox_config();
    // Large enough that not even a tenth of it fits into what the transport holds.
    config.annotations = [("much".to_owned(), "x".repeat(16 << 10))].into();
    let work = async {
        for attempt in 0..400 {
            let mut config = config.clone();
            config.metadata.as_mut().expect("metadata").attempt = attempt;
            let pod = runtime.pod_of(config).await;
            runtime.remove_pod(&pod.id).await.expect("it is removed");
        }
    };
    work.await;
    let refused = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, async {
        loop {
            match slow.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ended without a word"),
                Err(status) => return status,
            }
        }
    });
    let refused = refused.await.expect("in time");
    assert_eq!(refused.code(), Code::DataLoss, "{refused}");
    assert!(refused.message().contains("events were missed"), "{refused}");
    // It can listen again, and so can a bounded number of others.
    drop(slow);
    let mut all = Vec::new();
    let full = loop {
        match listen().await {
            Ok(stream) => all.push(stream),
            Err(status) => break status,
        }
        assert!(all.len() <= 16, "there is a bound");
    };
    assert_eq!((all.len(), full.code()), (16, Code::ResourceExhausted));
    drop(all);
    crate::client::eventually("places come back", async || listen().await.ok()).await;
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}
