//! Tests of what is made of the runtime's own events, on paused time.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::task::JoinSet;
use witlet_core::runtime::{ObservedPod, RuntimePod};

use super::*;

/// The pods that a stream tells of, and how it ends, if it does.
type Stream = (Vec<Option<&'static str>>, Option<Result<(), RuntimeError>>);

/// What each stream does in turn; when there is nothing left, streams stay open and silent.
#[derive(Default)]
struct Script {
    streams: Mutex<VecDeque<Stream>>,
    opened: AtomicUsize,
}

#[async_trait]
impl PodView for Script {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        Ok(Arc::default())
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        Ok(ObservedPod::absent(uid.clone(), jiff::Timestamp::UNIX_EPOCH))
    }

    async fn events(&self, events: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let stream = self.streams.lock().expect("no panic").pop_front();
        let Some((pods, end)) = stream else { return std::future::pending().await };
        for uid in pods {
            let event = RuntimeEvent { uid: uid.map(PodUid::from), id: "c".to_owned() };
            events.send(event).await.expect("someone listens");
        }
        match end {
            Some(end) => end,
            None => std::future::pending().await,
        }
    }
}

fn broken() -> Option<Result<(), RuntimeError>> {
    Some(Err(RuntimeError::failed("GetContainerEvents", "broken")))
}

fn silent() -> Option<Result<(), RuntimeError>> {
    Some(Err(RuntimeError::Unimplemented { call: "GetContainerEvents", message: "no".into() }))
}

fn well() -> Health {
    Health { errors: Vec::new(), ..Health::unknown() }
}

struct Bench {
    script: Arc<Script>,
    requests: mpsc::Receiver<PodUid>,
    health: watch::Sender<Health>,
    // Ends the task with the bench.
    _tasks: JoinSet<()>,
}

impl Bench {
    fn of(streams: impl IntoIterator<Item = Stream>) -> Self {
        let script = Arc::new(Script::default());
        script.streams.lock().expect("no panic").extend(streams);
        let (relists, requests) = RelistRequests::channel();
        // As at the start of the agent.
        let (health, health_seen) = watch::channel(Health::unknown());
        let runtime_events = RuntimeEvents { view: script.clone(), relists, health: health_seen };
        let mut tasks = JoinSet::new();
        tasks.spawn(runtime_events.run(CancellationToken::new()));
        Self { script, requests, health, _tasks: tasks }
    }

    fn asked(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).map(|uid| uid.to_string()).collect()
    }

    fn opened(&self) -> usize {
        self.script.opened.load(Ordering::Relaxed)
    }
}

async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_burst_ask_for_one_check_of_each_of_their_pods() {
    let burst = vec![Some("a"), None, Some("b"), Some("a")];
    let mut open = Bench::of([(burst.clone(), None)]);
    pass(10).await;
    assert_eq!(open.asked(), [""; 0], "more may come");
    pass(15).await;
    assert_eq!(open.asked(), ["a", "b"]);
    let mut ended = Bench::of([(burst, Some(Ok(())))]);
    pass(1).await;
    assert_eq!(ended.asked(), ["a", "b"], "nothing more will come");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_is_opened_again_after_a_delay_that_doubles_until_an_event_comes() {
    let broken_twice = (0..2).map(|_| (vec![], broken()));
    let mut bench =
        Bench::of(broken_twice.chain([(vec![Some("a")], Some(Ok(()))), (vec![Some("b")], Some(Ok(())))]));
    // Delays of 100, 200, and after an event of 100 ms again.
    for (after_ms, opened) in [(50, 1), (100, 2), (100, 2), (100, 3), (100, 4), (150, 5)] {
        pass(after_ms).await;
        assert_eq!(bench.opened(), opened);
    }
    assert_eq!(bench.asked(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_tells_nothing_is_asked_again_only_after_it_was_away() {
    let bench = Bench::of([(vec![], silent())]);
    pass(1).await;
    bench.health.send_replace(well());
    pass(3_600_000).await;
    assert_eq!(bench.opened(), 1);
    bench.health.send_replace(Health::unknown());
    pass(60_000).await;
    assert_eq!(bench.opened(), 1);
    bench.health.send_replace(well());
    pass(1).await;
    assert_eq!(bench.opened(), 2);
}
