//! Events on a small API server, on paused time.

use k8s_openapi::api::core::v1::Event as ApiEvent;
use tokio::task::JoinSet;
use witlet_api_server::{ApiServer, Effect, Fault, Identity, Options};
use witlet_core::event::{EventObject, EventType};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_testkit::{FixedJitter, ManualClock, NODE_NAME};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Rig {
    server: Arc<ApiServer>,
    events: Arc<ApiEvents>,
    _tasks: JoinSet<()>,
}

impl Rig {
    fn new() -> Self {
        Self::limited(EventLimit::default())
    }

    fn limited(limit: EventLimit) -> Self {
        let clock = ManualClock::new();
        let server_clock = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || server_clock.now())));
        let client = server.client(&Identity::node(NODE_NAME));
        let (clock, jitter) = (Arc::new(clock), Arc::new(FixedJitter(0.5)));
        let events = ApiEvents::new(client, NODE_NAME, limit, clock, jitter);
        let mut tasks = JoinSet::new();
        tasks.spawn(events.clone().run(CancellationToken::new()));
        Self { server, events, _tasks: tasks }
    }

    fn tell(&self, pod: &str, reason: &str, message: &str) {
        let object = EventObject::Pod {
            full_name: PodFullName { namespace: "default".into(), name: pod.into() },
            uid: PodUid::from(pod),
            field_path: None,
        };
        let (reason, message) = (reason.to_owned(), message.to_owned());
        self.events.record(Event {
            object,
            kind: EventType::Normal,
            reason,
            message,
            annotations: Default::default(),
        });
    }

    /// What the server has: pod, reason, message, count.
    fn stored(&self) -> Vec<String> {
        let line = |e: ApiEvent| {
            let text = |field: Option<String>| field.unwrap_or_default();
            format!(
                "{} {} {}× {}",
                text(e.involved_object.name),
                text(e.reason),
                e.count.unwrap_or(0),
                text(e.message)
            )
        };
        let mut lines: Vec<String> = self.server.list::<ApiEvent>().into_iter().map(line).collect();
        lines.sort_unstable();
        lines
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_made_and_its_repeats_change_it() {
    let rig = Rig::new();
    for _ in 0..3 {
        rig.tell("web", "Pulled", "m");
        sleep(SECOND).await;
    }
    assert_eq!(rig.stored(), ["web Pulled 3× m"]);
    assert_eq!((rig.server.count("create events"), rig.server.count("patch events")), (1, 2));
    let stored = rig.server.list::<ApiEvent>().remove(0);
    let second =
        |time: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| time.map(|t| t.0.as_second());
    let (first, last) = (second(stored.first_timestamp), second(stored.last_timestamp));
    assert_eq!(first.zip(last).map(|(first, last)| last - first), Some(2));
}

#[tokio::test(start_paused = true)]
async fn what_two_lives_of_the_agent_record_of_one_end_is_one_object() {
    let rig = Rig::new();
    let at = ManualClock::new().now();
    let ended = Event {
        object: EventObject::Pod {
            full_name: PodFullName { namespace: "default".into(), name: "web".into() },
            uid: PodUid::from("web"),
            field_path: None,
        },
        kind: EventType::Warning,
        reason: "Evicted".to_owned(),
        message: "m".to_owned(),
        annotations: Default::default(),
    };
    rig.tell("web", "Started", "m");
    rig.events.record_once(ended.clone(), at);
    sleep(SECOND).await;
    let client = rig.server.client(&Identity::node(NODE_NAME));
    let (clock, jitter) = (Arc::new(ManualClock::new()), Arc::new(FixedJitter(0.5)));
    let restarted = ApiEvents::new(client, NODE_NAME, EventLimit::default(), clock, jitter);
    let mut tasks = JoinSet::new();
    tasks.spawn(restarted.clone().run(CancellationToken::new()));
    restarted.record_once(ended, at);
    sleep(SECOND).await;
    assert_eq!(rig.stored(), ["web Evicted 1× m", "web Started 1× m"]);
    assert_eq!(rig.server.count("create events"), 3, "the second agent doesn't know of it");
}

#[tokio::test(start_paused = true)]
async fn one_that_the_server_forgot_is_made_again() {
    let rig = Rig::new();
    rig.tell("web", "Pulled", "m");
    sleep(SECOND).await;
    let name = rig.server.list::<ApiEvent>()[0].metadata.name.clone().unwrap_or_default();
    rig.server.delete::<ApiEvent>("default", &name, None).expect("deleted");
    rig.tell("web", "Pulled", "m");
    sleep(SECOND).await;
    assert_eq!(rig.stored(), ["web Pulled 2× m"]);
}

#[tokio::test(start_paused = true)]
async fn what_happens_while_the_server_is_away_is_sent_once_afterwards() {
    let rig = Rig::new();
    rig.tell("web", "Pulled", "m");
    sleep(SECOND).await;
    rig.server.down();
    for minute in 0..60 {
        // One that repeats, and one that comes again again and again.
        rig.tell("web", "Pulled", "m");
        rig.tell(&format!("job-{minute}"), "Started", "m");
        sleep(60 * SECOND).await;
    }
    rig.server.up();
    rig.server.clear_requests();
    sleep(60 * SECOND).await;
    let counts = rig.server.counts();
    println!("requests about events after an hour's outage: {counts:?}");
    assert!(counts.values().sum::<u64>() <= 62, "each of them once: {counts:?}");
    let stored = rig.stored();
    assert!(stored.len() >= 25, "what waited is there: {stored:?}");
    let repeated = stored.iter().filter(|line| line.starts_with("web ")).collect::<Vec<_>>();
    assert_eq!(repeated.len(), 1, "{stored:?}");
    sleep(600 * SECOND).await;
    assert_eq!(rig.server.counts(), counts, "and nothing after that");
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_loses_nothing_and_a_lost_answer_doubles_nothing() {
    let rig = Rig::new();
    rig.server.fault(Fault::new(Effect::DropAfter).verb("create").on("events").times(1));
    rig.tell("web", "Pulled", "m");
    sleep(SECOND).await;
    rig.server.down();
    for reason in ["Created", "Started"] {
        rig.tell("web", reason, "m");
    }
    sleep(60 * SECOND).await;
    rig.server.up();
    sleep(15 * SECOND).await;
    assert_eq!(rig.stored(), ["web Created 1× m", "web Pulled 1× m", "web Started 1× m"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_dropped_and_the_next_one_goes() {
    let rig = Rig::new();
    for code in [403, 404, 500] {
        rig.server.fault(Fault::new(Effect::code(code)).verb("create").on("events").times(1));
        rig.tell("web", &format!("Refused{code}"), "m");
        rig.tell("web", &format!("After{code}"), "m");
        sleep(SECOND).await;
    }
    assert_eq!(rig.stored(), ["web After403 1× m", "web After404 1× m", "web After500 1× m"]);
    rig.server.fault(Fault::new(Effect::code(503)).verb("create").on("events").times(3));
    rig.tell("web", "Busy", "m");
    sleep(60 * SECOND).await;
    assert!(rig.stored().contains(&"web Busy 1× m".to_owned()), "a server that is starting is waited for");
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_bounded_and_sent_at_the_limits_pace() {
    let rig = Rig::limited(EventLimit { per_second: 10, burst: 20 });
    for pod in 0..1500 {
        rig.tell(&format!("pod-{pod}"), "Started", "m");
    }
    assert_eq!(rig.events.dropped(), 500);
    sleep(10 * SECOND).await;
    let sent = rig.server.count("create events");
    assert!((110..=125).contains(&sent), "{sent}");
    sleep(100 * SECOND).await;
    assert_eq!(rig.server.count("create events"), 1000);
}
