//! Tests of the generator on a view by script.

use std::sync::Mutex;

use async_trait::async_trait;
use futures::FutureExt;
use jiff::Timestamp;
use witlet_core::pleg::PlegEventKind;
use witlet_core::runtime::{
    ContainerId, ContainerRunState, NamespaceMode, ObservedContainer, ObservedSandbox, RuntimeEvent,
    SandboxState,
};
use witlet_ports::{PodView, RuntimeError};

use super::fixture::Machine;
use super::*;
use crate::cache::Stamp;

mod reinspect;

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// One pod `u`, whose sandbox and container are in these states, and whether checks fail.
#[derive(Default)]
struct Script {
    pod: Mutex<Option<(SandboxState, ContainerRunState)>>,
    inspections_fail: Mutex<bool>,
    lists_fail: Mutex<bool>,
}

impl Script {
    fn set(&self, pod: Option<(SandboxState, ContainerRunState)>) {
        *self.pod.lock().expect("no test panics while it holds the lock") = pod;
    }

    fn failed(call: &'static str) -> RuntimeError {
        RuntimeError::failed(call, "as scripted")
    }

    fn observed(&self) -> ObservedPod {
        let uid = PodUid::from("u");
        let mut pod = ObservedPod::absent(uid, Timestamp::UNIX_EPOCH);
        let Some((sandbox, container)) = *self.pod.lock().expect("no panic") else { return pod };
        let created_at = Timestamp::UNIX_EPOCH;
        if sandbox == SandboxState::Ready {
            pod.ips = vec![std::net::Ipv4Addr::new(10, 0, 0, 1).into()];
        }
        pod.sandboxes.push(ObservedSandbox {
            id: SandboxId::from("s"),
            attempt: 0,
            state: sandbox,
            created_at,
            network: NamespaceMode::Pod,
            ips: pod.ips.clone(),
        });
        pod.containers.push(ObservedContainer {
            sandbox_id: Some(SandboxId::from("s")),
            ..ObservedContainer::new(ContainerId::from("c"), "app", container, created_at)
        });
        pod
    }
}

#[async_trait]
impl PodView for Script {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        if *self.lists_fail.lock().expect("no panic") {
            return Err(Self::failed("ListPodSandbox"));
        }
        Ok(Arc::new(listed(&self.observed()).into_iter().collect()))
    }

    async fn pod_status(&self, _: &PodUid) -> Result<ObservedPod, RuntimeError> {
        if *self.inspections_fail.lock().expect("no panic") {
            return Err(Self::failed("PodSandboxStatus"));
        }
        Ok(self.observed())
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        std::future::pending().await
    }
}

struct Bench {
    script: Arc<Script>,
    pleg: Pleg,
    events: mpsc::Receiver<PlegEvent>,
}

fn bench(capacity: usize) -> Bench {
    let script = Arc::new(Script::default());
    let (sender, events) = mpsc::channel(capacity);
    let (relisted, _) = watch::channel(Relisted::default());
    let inspector = Inspector {
        view: script.clone(),
        files: Arc::new(Machine::default()),
        cache: Arc::new(PodCache::new()),
    };
    let pleg = Pleg::new(inspector, Arc::new(StoppedClock), sender, relisted);
    Bench { script, pleg, events }
}

impl Bench {
    fn kinds(&mut self) -> Vec<PlegEventKind> {
        let mut kinds = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            kinds.push(event.kind);
        }
        kinds
    }
}

const RUNS: Option<(SandboxState, ContainerRunState)> =
    Some((SandboxState::Ready, ContainerRunState::Running));
const ENDED: Option<(SandboxState, ContainerRunState)> =
    Some((SandboxState::NotReady, ContainerRunState::Exited));

use PlegEventKind::{ContainerDied, ContainerRemoved, ContainerStarted, PodSync};

#[tokio::test]
async fn lists_tell_what_changed_and_keep_the_cache_fresh() {
    let mut bench = bench(100);
    for (state, expected) in [
        (RUNS, vec![ContainerStarted, ContainerStarted]),
        (RUNS, vec![]),
        (ENDED, vec![ContainerDied, ContainerDied]),
        (None, vec![ContainerRemoved, ContainerRemoved]),
        (RUNS, vec![ContainerStarted, ContainerStarted]),
        (None, vec![ContainerDied, ContainerRemoved, ContainerDied, ContainerRemoved]),
    ] {
        bench.script.set(state);
        bench.pleg.relist().await;
        assert_eq!(bench.kinds(), expected, "{state:?}");
        let inspection = bench.pleg.cache.newer_than(&PodUid::from("u"), Stamp::default()).await;
        let shown = inspection.expect("no check failed").containers.first().map(|container| container.state);
        assert_eq!(shown, state.map(|(_, container)| container));
    }
}

#[tokio::test]
async fn a_check_that_failed_is_tried_again_at_the_next_list_and_reported_then() {
    let mut bench = bench(100);
    bench.script.set(RUNS);
    *bench.script.inspections_fail.lock().expect("no panic") = true;
    bench.pleg.relist().await;
    assert_eq!(bench.kinds(), [], "not reported before it is in the cache");
    assert!(bench.pleg.cache.newer_than(&PodUid::from("u"), Stamp::default()).await.is_err());
    *bench.script.inspections_fail.lock().expect("no panic") = false;
    bench.pleg.relist().await;
    assert_eq!(bench.kinds(), [ContainerStarted, ContainerStarted]);
    // The same with a pod that is known: what failed was a check on demand.
    *bench.script.inspections_fail.lock().expect("no panic") = true;
    bench.pleg.inspect_pods([PodUid::from("u")].into()).await;
    *bench.script.inspections_fail.lock().expect("no panic") = false;
    bench.pleg.relist().await;
    assert_eq!(bench.kinds(), [PodSync]);
}

#[tokio::test]
async fn a_check_on_demand_tells_what_changed_and_the_next_list_does_not_tell_it_again() {
    let mut bench = bench(100);
    bench.script.set(RUNS);
    bench.pleg.inspect_pods([PodUid::from("u")].into()).await;
    assert_eq!(bench.kinds(), [ContainerStarted, ContainerStarted]);
    bench.pleg.relist().await;
    assert_eq!(bench.kinds(), []);
}

#[tokio::test]
async fn addresses_are_remembered_after_the_sandbox_has_ended() {
    let mut bench = bench(100);
    for state in [RUNS, ENDED] {
        bench.script.set(state);
        bench.pleg.relist().await;
    }
    let seen = bench.pleg.cache.peek(&PodUid::from("u")).expect("it was checked");
    assert_eq!(seen.ips.len(), 1);
}

#[tokio::test]
async fn a_failed_list_changes_nothing_and_is_no_fresh_check() {
    let mut bench = bench(100);
    bench.script.set(RUNS);
    bench.pleg.relist().await;
    let stamp = bench.pleg.cache.stamp();
    bench.kinds();
    *bench.script.lists_fail.lock().expect("no panic") = true;
    bench.pleg.relist().await;
    assert_eq!(bench.kinds(), []);
    let uid = PodUid::from("u");
    let newer = bench.pleg.cache.newer_than(&uid, stamp);
    assert!(newer.now_or_never().is_none(), "still waits");
}

#[tokio::test]
async fn events_that_find_a_full_queue_are_dropped_and_counted() {
    let mut bench = bench(1);
    bench.script.set(RUNS);
    bench.pleg.relist().await;
    assert_eq!(bench.kinds(), [ContainerStarted]);
    assert_eq!(bench.pleg.dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn events_are_logged_as_a_kubelet_logs_them() {
    for (subject, kind, data) in [
        (PlegSubject::Container(ContainerId::from("c-1")), ContainerStarted, "\"c-1\""),
        (PlegSubject::Sandbox(SandboxId::from("s\"1")), ContainerDied, r#""s\"1""#),
        (PlegSubject::Pod, PodSync, "null"),
    ] {
        let event = PlegEvent { uid: PodUid::from("u-1"), subject, kind };
        assert_eq!(logged(&event), format!(r#"{{"ID":"u-1","Type":"{kind:?}","Data":{data}}}"#));
    }
}
