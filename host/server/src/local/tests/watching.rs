//! Watches over a real socket, with an agent that records an event or changes a pod when a test says so.

use std::sync::Mutex;

use tokio::sync::watch;

use super::*;

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Changing {
    events: Mutex<Vec<RecordedEvent>>,
    pods: Mutex<Vec<Arc<Pod>>>,
    changes: watch::Sender<u64>,
}

impl Changing {
    fn record(&self, reason: &str) {
        let mut events = self.events.lock().unwrap();
        let version = events.len() as u64 + 1;
        let event = Event {
            object: EventObject::Node,
            kind: EventType::Normal,
            reason: reason.to_owned(),
            message: String::new(),
            annotations: Default::default(),
        };
        let at = jiff::Timestamp::UNIX_EPOCH;
        events.push(RecordedEvent {
            event: Arc::new(event),
            count: 1,
            first_seen: at,
            last_seen: at,
            version,
        });
        self.changes.send_modify(|changes| *changes += 1);
    }

    fn put(&self, names: &[&str]) {
        let pod = |name: &&str| {
            let mut pod = Pod::default();
            (pod.metadata.name, pod.metadata.uid) = (Some((*name).to_owned()), Some(format!("u-{name}")));
            Arc::new(pod)
        };
        *self.pods.lock().unwrap() = names.iter().map(pod).collect();
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl AgentView for Changing {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.pods.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.events.lock().unwrap().clone()
    }

    fn event_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn pod_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn node(&self) -> Arc<Node> {
        Arc::default()
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats::default()
    }
}

/// Serves such an agent while `ask` runs, which may stop it before.
async fn with_changing(ask: impl AsyncFnOnce(Arc<Changing>, LocalClient, CancellationToken)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witlet.sock");
    let socket = RootOnlySocket::bind(&path).await.unwrap();
    let (view, stop) = (Arc::new(Changing::default()), CancellationToken::new());
    let api = LocalApi::new(view.clone(), Arc::new(Fixed { sick: false }));
    let asking = async {
        ask(view, LocalClient::new(&path), stop.clone()).await;
        stop.cancel();
    };
    let both = async { tokio::join!(api.serve(socket, stop.clone()), asking) };
    let (served, ()) = tokio::time::timeout(WAIT_TIMEOUT, both).await.expect("it ends soon");
    served.unwrap();
}

async fn line(lines: &mut crate::LineStream) -> Value {
    lines.next().await.unwrap().expect("the watch goes on")
}

#[tokio::test]
async fn a_watch_of_events_brings_each_new_one_and_ends_with_the_agent() {
    with_changing(async |agent, client, stop| {
        agent.record("Before");
        let mut lines = client.lines("/events?watch=true&resourceVersion=0").await.unwrap();
        assert_eq!(line(&mut lines).await["object"]["reason"], "Before");
        agent.record("After");
        let after = line(&mut lines).await;
        assert_eq!((&after["type"], &after["object"]["reason"]), (&json!("ADDED"), &json!("After")));
        let mut late = client.lines("/events?watch=true&resourceVersion=2").await.unwrap();
        agent.record("Later");
        assert_eq!(line(&mut late).await["object"]["reason"], "Later");
        stop.cancel();
        let end = async { while lines.next::<Value>().await.is_ok_and(|line| line.is_some()) {} };
        end.await;
    })
    .await;
}

#[tokio::test]
async fn a_watch_of_pods_begins_with_all_of_them() {
    with_changing(async |agent, client, _| {
        agent.put(&["a", "b"]);
        let mut lines = client.lines("/pods?watch=1").await.unwrap();
        let mut shown = Vec::new();
        for _ in 0..2 {
            shown.push(line(&mut lines).await);
        }
        agent.put(&["b"]);
        shown.push(line(&mut lines).await);
        let shown: Vec<String> = shown
            .iter()
            .map(|line| format!("{} {}", line["type"], line["object"]["metadata"]["name"]))
            .collect();
        assert_eq!(shown, [r#""ADDED" "a""#, r#""ADDED" "b""#, r#""DELETED" "a""#]);
    })
    .await;
}

#[tokio::test]
async fn more_watches_than_the_bound_are_refused() {
    with_changing(async |_, client, _| {
        let mut open = Vec::new();
        let refused = loop {
            match client.lines("/events?watch=true").await {
                Ok(lines) => open.push(lines),
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, ClientError::Refused { status: 503, .. }), "{refused}");
        assert_eq!(open.len(), 32);
    })
    .await;
}
