//! The lease on a small API server, on paused time.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1 as coordination;
use serde_json::json;
use tokio::task::JoinSet;
use tracing::field::{Field, Visit};
use tracing::span;
use witlet_api_server::{ApiServer, Effect, Fault, Identity, Options};
use witlet_testkit::{FixedJitter, ManualClock, NODE_NAME};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Rig {
    server: Arc<ApiServer>,
    clock: ManualClock,
    node: watch::Sender<Option<Arc<Node>>>,
    _tasks: JoinSet<()>,
}

fn node(uid: &str) -> Option<Arc<Node>> {
    let mut node = Node::default();
    node.metadata.uid = Some(uid.to_owned());
    Some(Arc::new(node))
}

impl Rig {
    fn new() -> Self {
        let clock = ManualClock::new();
        let server_clock = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || server_clock.now())));
        let sender = watch::Sender::new(None);
        let lease = Lease::new(
            server.client(&Identity::node(NODE_NAME)),
            NODE_NAME,
            sender.subscribe(),
            lease::DURATION_SECONDS,
            Arc::new(clock.clone()),
            Arc::new(FixedJitter(0.0)),
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(lease.run(CancellationToken::new()));
        Self { server, clock, node: sender, _tasks: tasks }
    }

    async fn renewed() -> Self {
        let rig = Self::new();
        rig.node.send_replace(node("u1"));
        sleep(SECOND).await;
        rig
    }

    fn lease(&self) -> Option<coordination::Lease> {
        self.server.get(lease::NAMESPACE, NODE_NAME)
    }

    /// How long ago it was renewed, in seconds.
    fn age(&self) -> Option<i64> {
        let renewed = self.lease()?.spec?.renew_time?.0;
        Some(self.clock.now().duration_since(renewed).as_secs())
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_made_once_the_node_is_known_and_renewed_each_ten_seconds() {
    let rig = Rig::new();
    sleep(60 * SECOND).await;
    assert!(rig.lease().is_none(), "no one would own it");
    rig.node.send_replace(node("u1"));
    sleep(SECOND).await;
    let made = rig.lease().expect("the lease is there");
    assert_eq!(made.metadata.owner_references.unwrap_or_default()[0].uid, "u1");
    rig.server.clear_requests();
    sleep(3600 * SECOND).await;
    let counts = rig.server.counts();
    println!("requests about the lease in an hour: {counts:?}");
    assert_eq!(counts.len(), 1, "no request but the renewal: {counts:?}");
    assert!((359..=361).contains(&rig.server.count("update leases")), "{counts:?}");
    assert!(rig.age().is_some_and(|age| age <= 10));
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_the_lease_is_renewed_within_seven_seconds() {
    let rig = Rig::renewed().await;
    rig.server.down();
    rig.server.clear_requests();
    sleep(3600 * SECOND).await;
    let tries: u64 = rig.server.counts().values().sum();
    assert!(tries <= 3600 / 7 + 20, "{tries} tries in an hour");
    rig.server.up();
    sleep(8 * SECOND).await;
    assert!(rig.age().is_some_and(|age| age <= 8));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_gone_is_made_again_for_the_node_that_there_is() {
    let rig = Rig::renewed().await;
    rig.server.delete::<coordination::Lease>(lease::NAMESPACE, NODE_NAME, None).expect("deleted");
    rig.node.send_replace(node("u2"));
    sleep(11 * SECOND).await;
    let made = rig.lease().expect("the lease is there again");
    assert_eq!(made.metadata.owner_references.unwrap_or_default()[0].uid, "u2");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_others_wrote_is_renewed_all_the_same() {
    let rig = Rig::renewed().await;
    let edit = json!({"metadata": {"labels": {"others": "1"}}, "spec": {"holderIdentity": "others"}});
    rig.server.patch::<coordination::Lease>(lease::NAMESPACE, NODE_NAME, "", edit).expect("patched");
    rig.server.clear_requests();
    sleep(11 * SECOND).await;
    let lease = rig.lease().expect("the lease is there");
    assert!(lease.metadata.labels.is_some_and(|labels| labels.contains_key("others")));
    assert_eq!(lease.spec.and_then(|spec| spec.holder_identity).as_deref(), Some(NODE_NAME));
    assert!(rig.age().is_some_and(|age| age <= 10));
    // Refused once, it is read and renewed as it is by then.
    assert_eq!((rig.server.count("get leases"), rig.server.count("update leases")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_or_fails_now_and_then_costs_no_lease() {
    let rig = Rig::renewed().await;
    for effect in [Effect::Stall, Effect::code(500), Effect::DropAfter, Effect::code(429)] {
        rig.server.fault(Fault::new(effect.clone()).on("leases").times(1));
        for _ in 0..30 {
            sleep(SECOND).await;
            assert!(rig.age().is_some_and(|age| age < 40), "{effect:?}: {:?}", rig.age());
        }
        rig.server.clear_faults();
    }
}

/// The lines that the lease logs: level, message and fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _infallible = write!(self.0, " {}={value:?}", field.name());
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, of: &tracing::Metadata<'_>) -> bool {
        of.target() == "witlet_cluster::lease"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Lines {
    /// Those so far, each with the parts that it must have.
    fn take(&self, expected: &[&[&str]]) {
        let lines = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let is_expected = |(line, parts): (&String, &&[&str])| parts.iter().all(|part| line.contains(part));
        let all = lines.len() == expected.len() && lines.iter().zip(expected).all(is_expected);
        assert!(all, "expected {expected:#?}, found {lines:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_about_a_lease_is_logged_with_its_cause_at_the_kubelets_level() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    // With a single subscriber in the process, a line that another test's thread reaches first is off for all: that thread has none.
    let _second = tracing::Dispatch::new(Lines::default());
    let failed: &[&str] = &["ERROR", "Failed to update lease", "error=500 "];
    let fallback: &[&str] = &["INFO", "Failed to update lease using latest lease, fallback to ensure lease"];
    let rig = Rig::renewed().await;
    lines.take(&[]);

    let fault = |verb| Fault::new(Effect::code(500)).on("leases").verb(verb);
    rig.server.fault(fault("update").times(2));
    sleep(11 * SECOND).await;
    lines.take(&[failed; 2]);

    rig.server.fault(fault("update").times(10));
    sleep(10 * SECOND).await;
    let retry: &[&str] = &["ERROR", "Will retry updating lease", "interval=10s"];
    let mut expected = vec![failed; 5];
    expected.push(fallback);
    expected.extend([failed; 5]);
    expected.push(retry);
    lines.take(&expected);

    // One that there is nothing of any more is looked for at once, and once more after a failure.
    sleep(10 * SECOND).await;
    lines.take(&[]);
    rig.server.delete::<coordination::Lease>(lease::NAMESPACE, NODE_NAME, None).expect("deleted");
    rig.server.fault(fault("get").times(1));
    sleep(10 * SECOND).await;
    let gone: &[&str] = &["ERROR", "Failed to update lease", "error=not found"];
    let unsure: &[&str] =
        &["ERROR", "Failed to ensure lease exists, will retry", "error=500 ", "interval=100ms"];
    lines.take(&[gone, fallback, unsure]);
    assert!(rig.lease().is_some());
}
