//! Tests of the pod cache.

use super::*;

fn uid() -> PodUid {
    PodUid::from("u")
}

fn seen(name: &str) -> Inspection {
    let mut pod = ObservedPod::absent(uid(), Timestamp::UNIX_EPOCH);
    pod.name = name.into();
    Ok(Arc::new(pod))
}

async fn name(cache: &PodCache, than: Stamp) -> String {
    cache.newer_than(&uid(), than).await.map(|pod| pod.name.clone()).unwrap_or_else(|e| e.to_string())
}

fn is_waiting(future: &mut std::pin::Pin<Box<impl Future<Output = String>>>) -> bool {
    let waker = futures::task::noop_waker();
    future.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending()
}

#[tokio::test]
async fn a_check_begun_before_the_last_action_is_not_new_enough() {
    let cache = PodCache::new();
    let inspection = cache.stamp();
    let action = cache.stamp();
    cache.set(&uid(), seen("old"), inspection);
    let mut wait = Box::pin(name(&cache, action));
    assert!(is_waiting(&mut wait));
    cache.set(&uid(), seen("new"), cache.stamp());
    assert_eq!(wait.await, "new");
}

#[tokio::test]
async fn a_list_makes_unchanged_pods_as_fresh_as_the_list() {
    let cache = PodCache::new();
    cache.set(&uid(), seen("unchanged"), cache.stamp());
    let action = cache.stamp();
    let mut wait = Box::pin(name(&cache, action));
    assert!(is_waiting(&mut wait));
    cache.listed(cache.stamp(), Timestamp::UNIX_EPOCH, |_| true);
    assert_eq!(wait.await, "unchanged");
}

#[tokio::test]
async fn a_pod_that_no_list_shows_is_absent() {
    let cache = PodCache::new();
    cache.listed(cache.stamp(), Timestamp::UNIX_EPOCH, |_| true);
    let inspection = cache.newer_than(&uid(), Stamp::default()).await.expect("absent is no error");
    assert!(inspection.sandboxes.is_empty() && inspection.containers.is_empty());
}

#[tokio::test]
async fn checks_of_pods_that_are_gone_are_not_kept() {
    let cache = PodCache::new();
    cache.set(&uid(), seen("gone"), cache.stamp());
    cache.listed(cache.stamp(), Timestamp::UNIX_EPOCH, |_| false);
    assert_eq!(cache.peek(&uid()), None);
    assert_eq!(name(&cache, Stamp::default()).await, "");
}

#[tokio::test]
async fn an_older_list_neither_overwrites_nor_removes_a_newer_check() {
    let cache = PodCache::new();
    let list = cache.stamp();
    cache.set(&uid(), seen("new"), cache.stamp());
    cache.set(&uid(), seen("old"), list);
    cache.remove(&uid(), list);
    assert_eq!(name(&cache, Stamp::default()).await, "new");
}

#[tokio::test]
async fn a_failed_check_is_reported_to_those_who_wait() {
    let cache = PodCache::new();
    let error = RuntimeError::failed("ContainerStatus", "no");
    cache.set(&uid(), Err(error), cache.stamp());
    assert_eq!(name(&cache, Stamp::default()).await, "ContainerStatus: no");
    assert_eq!(cache.peek(&uid()), None);
}
