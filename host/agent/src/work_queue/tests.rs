//! Tests of the work queue.

use std::time::Duration;

use super::*;

#[tokio::test(start_paused = true)]
async fn pods_are_due_once_in_order_and_at_the_latest_time_set() {
    let mut queue = WorkQueue::default();
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(PodUid::from);
    queue.set(&a, at(5));
    queue.set(&b, at(1));
    queue.set(&c, at(9));
    queue.set(&d, at(2));
    queue.set(&a, at(3));
    queue.remove(&d);
    assert_eq!(queue.take_due(at(0)), []);
    assert_eq!(queue.take_due(at(5)), [b, a]);
    assert_eq!(queue.take_due(at(8)), []);
    assert_eq!(queue.take_due(at(9)), [c]);
}
