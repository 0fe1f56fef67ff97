//! The source on servers of loopback.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use witlet_core::sources::SourceUpdate;

use super::*;

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);
const OFTEN: Duration = HTTP_CHECK_INTERVAL_MIN;

#[derive(Default)]
struct Events {
    recorded: Mutex<Vec<Event>>,
    more: Notify,
}

impl EventSink for Events {
    fn record(&self, event: Event) {
        self.recorded.lock().expect("no panic under the lock").push(event);
        self.more.notify_one();
    }
}

impl Events {
    /// The first event, of those that were recorded and of those to come, of which this is true.
    async fn wait_for(&self, predicate: impl Fn(&Event) -> bool) -> Event {
        let found = async {
            loop {
                let recorded = self.recorded.lock().expect("no panic under the lock").clone();
                if let Some(event) = recorded.into_iter().find(&predicate) {
                    return event;
                }
                self.more.notified().await;
            }
        };
        timeout(WAIT_TIMEOUT, found).await.unwrap_or_else(|_| panic!("not among {:?}", self.recorded))
    }
}

/// Answers the n-th request, given its head, with these bytes.
async fn serve(
    tasks: &mut JoinSet<()>,
    answer: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    tasks.spawn(async move {
        let count = AtomicUsize::new(0);
        loop {
            let (mut stream, _) = listener.accept().await.expect("it listens");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            // A client that has read enough closes early.
            let _ = stream.write_all(&answer(count.fetch_add(1, Ordering::Relaxed), &head)).await;
        }
    });
    url
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn pod(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, image: b}}]}}\n"
    )
}

struct Running {
    snapshots: mpsc::Receiver<SourceEvent>,
    events: Arc<Events>,
    stop: CancellationToken,
}

fn start(tasks: &mut JoinSet<()>, url: &str, headers: &[&str]) -> Running {
    let events = Arc::new(Events::default());
    let url = ManifestUrl::new(url, headers).expect("a URL");
    let source = HttpSource::new(url, "n", OFTEN, Egress::system(), events.clone());
    // No check is given up because the machine is busy.
    let source = HttpSource { read_time_max: Duration::from_hours(1), ..source };
    let (sender, snapshots) = mpsc::channel(witlet_ports::SOURCE_EVENTS_MAX);
    let stop = CancellationToken::new();
    tasks.spawn(Box::new(source).run(sender, stop.clone()));
    Running { snapshots, events, stop }
}

#[tokio::test]
async fn the_last_good_answer_goes_on_after_a_restart_until_the_url_answers() {
    let mut tasks = JoinSet::new();
    let folder = tempfile::tempdir().expect("a folder");
    let state = Arc::new(crate::FileStateStore::new(folder.path()));
    let url = serve(&mut tasks, |count, _| match count {
        0 => ok(&pod("a")),
        1 | 2 => b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => ok(&pod("b")),
    })
    .await;
    let run = |interval| {
        let events = Arc::new(Events::default());
        let url = ManifestUrl::new(&url, &[] as &[&str]).expect("a URL");
        let source = HttpSource::new(url, "n", interval, Egress::system(), events.clone());
        let source = HttpSource { read_time_max: Duration::from_hours(1), ..source };
        let (sender, snapshots) = mpsc::channel(witlet_ports::SOURCE_EVENTS_MAX);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(Box::new(source.remembering(state.clone())).run(sender, stop.clone()));
        (snapshots, tasks)
    };
    let next = async |sets: &mut mpsc::Receiver<SourceEvent>| {
        let set = timeout(WAIT_TIMEOUT, sets.recv()).await.expect("in time").expect("the source runs");
        let (restored, pods) = match set.update {
            SourceUpdate::Restored(pods) => (true, pods),
            SourceUpdate::Replaced { pods, .. } => (false, pods),
            other => panic!("{other:?}"),
        };
        (restored, pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect::<Vec<_>>())
    };
    let (mut sets, first) = run(Duration::from_secs(3600));
    assert_eq!(next(&mut sets).await, (false, vec!["a-n".to_owned()]));
    drop(first);
    let (mut sets, _second) = run(OFTEN);
    assert_eq!(next(&mut sets).await, (true, vec!["a-n".to_owned()]));
    assert_eq!(next(&mut sets).await, (false, vec!["b-n".to_owned()]));
}

#[test]
fn an_url_that_does_not_answer_for_a_minute_is_notified_of_until_it_does() {
    let (events, health) = (Arc::new(Events::default()), Arc::new(SourceHealth::default()));
    let url = ManifestUrl::new("http://127.0.0.1:1", &[] as &[&str]).expect("a URL");
    let source = HttpSource::new(url, "n", OFTEN, Egress::system(), events.clone());
    let source = source.with_health(health.clone(), Arc::new(crate::SystemClock));
    let clock = Arc::new(crate::SystemClock);
    let mut outage = SourceOutage::new(source.name(), health.clone(), clock, events.clone());
    for (second, reported) in [(20, 0), (59, 0), (60, 1), (80, 1), (180, 2)] {
        source.report(&mut outage, Duration::from_secs(second), Some("no"));
        assert_eq!(events.recorded.lock().expect("no panic under the lock").len(), reported, "{second}");
        assert_eq!(health.all_unread().len(), reported.min(1), "{second}");
    }
    source.report(&mut outage, Duration::from_secs(200), None);
    assert!(health.all_unread().is_empty());
}

impl Running {
    /// Names of the pods in the next set.
    async fn next(&mut self) -> Vec<String> {
        let next = timeout(WAIT_TIMEOUT, self.snapshots.recv()).await;
        let reported = self.events.recorded.lock().expect("no panic under the lock").clone();
        let snapshot = next
            .unwrap_or_else(|_| panic!("no set in time, reported {reported:?}"))
            .expect("the source runs");
        assert_eq!(snapshot.source, SourceName::http());
        let SourceUpdate::Replaced { pods, incomplete: None } = snapshot.update else {
            panic!("{snapshot:?}")
        };
        pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect()
    }

    async fn reported(&self, words: &str) {
        let is_reported = |event: &Event| format!("{} {}", event.reason, event.message).contains(words);
        self.events.wait_for(is_reported).await;
    }
}

#[tokio::test]
async fn pods_come_change_and_go_with_the_answers_and_stay_while_there_is_none() {
    let mut tasks = JoinSet::new();
    let url = serve(&mut tasks, |n, head| match n {
        _ if !head.starts_with("get /pods?node=n http/1.1\r\n") || !head.contains("x-token: t\r\n") => {
            b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec()
        }
        0 => ok(&pod("a")),
        1 => b"HTTP/1.1 500 Oh no\r\n\r\n".to_vec(),
        2 => b"not HTTP".to_vec(),
        3 => ok(&pod("b")),
        4 => ok("nonsense: ["),
        _ => ok(""),
    })
    .await;
    let mut running = start(&mut tasks, &format!("{url}/pods?node=n"), &["X-Token:t"]);
    assert_eq!(running.next().await, ["a-n"]);
    assert_eq!(running.next().await, ["b-n"]);
    running.reported("FailedRead 500").await;
    running.reported("InvalidManifest").await;
    assert_eq!(running.next().await, [""; 0]);
    running.reported("EmptyAnswer").await;
}

#[tokio::test]
async fn redirects_are_followed_ten_requests_long_and_take_no_secrets_along() {
    let mut tasks = JoinSet::new();
    let other = serve(&mut tasks, |_, head| {
        let stolen = head.contains("x-token");
        ok(&pod(if stolen { "stolen" } else { "elsewhere" }))
    })
    .await;
    let other = other.replace("127.0.0.1", "localhost");
    let url = serve(&mut tasks, move |_, head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let to = match path {
            "/away" => format!("{other}/"),
            "/round" => "/round".to_owned(),
            "/far/8" => return ok(&pod("far")),
            _ => format!("/far/{}", path.rsplit('/').next().and_then(|n| n.parse().ok()).unwrap_or(0) + 1),
        };
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    })
    .await;
    let mut running = start(&mut tasks, &format!("{url}/away"), &["X-Token:t"]);
    assert_eq!(running.next().await, ["elsewhere-n"]);
    let mut running = start(&mut tasks, &format!("{url}/far/0"), &[]);
    assert_eq!(running.next().await, ["far-n"]);
    let running = start(&mut tasks, &format!("{url}/round"), &[]);
    running.reported("stopped after 10 redirects").await;
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let mut tasks = JoinSet::new();
    let url = serve(&mut tasks, |_, _| {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(answer.len() + MANIFEST_BYTES_MAX + 1, b'#');
        answer
    })
    .await;
    let running = start(&mut tasks, &url, &[]);
    running.reported("FailedRead the response must have at most").await;
}

#[tokio::test]
async fn it_stops_when_asked_and_when_no_one_listens() {
    for reported in [true, false] {
        let mut servers = JoinSet::new();
        let url = serve(&mut servers, |_, _| ok(&pod("a"))).await;
        let mut tasks = JoinSet::new();
        let Running { mut snapshots, stop, .. } = start(&mut tasks, &url, &[]);
        snapshots.recv().await.expect("a set");
        if reported {
            stop.cancel();
        } else {
            drop(snapshots);
        }
        let ended = timeout(WAIT_TIMEOUT, tasks.join_next()).await.expect("it ends");
        assert!(ended.is_some_and(|result| result.is_ok()));
    }
}
