//! What an evicted pod holds isn't the node's again before its volumes are gone: for a bounded time no other pod ends for it.

use serde_json::json;
use witlet_testkit::{Behaviour, FakeImage};

use super::{GIB, MIB, api_pod, clinging, events, evicted, left, pass, started, status, uses_memory};

#[tokio::test(start_paused = true)]
async fn the_next_pod_ends_only_if_the_node_is_short_without_the_volumes_of_the_one_before() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    let (bomb, tame) = (clinging("bomb", "10Mi"), clinging("tame", "10Mi"));
    node.source.put_as_is("pods", vec![bomb.clone(), tame.clone()]);
    uses_memory(&node, &bomb, 900 * MIB);
    uses_memory(&node, &tame, 50 * MIB);
    pass(15.0).await;
    node.machine.hang_tear_down(true);
    node.usage.set(|seen| seen.memory = left(50 * MIB));
    // The next round is 20 s after the start, and the pod has a second to end.
    pass(20.0).await;
    assert!(status(&node, "bomb").starts_with("Failed Evicted app: ended 137"), "{}", status(&node, "bomb"));
    assert_eq!(evicted(&node, &["bomb", "tame"]), [true, false], "its volumes are still there");
    let reported = events(&node, "bomb");
    assert!(!reported.contains("ExceededGracePeriod"), "its containers ended in time: {reported}");
    node.machine.hang_tear_down(false);
    node.usage.set(|seen| seen.memory = left(4 * GIB));
    pass(60.0).await;
    assert!(status(&node, "tame").starts_with("Running app: running, 0"), "{}", status(&node, "tame"));

    // One that never leaves isn't waited for any longer than half a minute.
    node.machine.hang_tear_down(true);
    let (bomb, next) = (clinging("bomb-2", "10Mi"), clinging("next", "10Mi"));
    node.source.put_as_is("more", vec![bomb.clone(), next.clone()]);
    uses_memory(&node, &bomb, 900 * MIB);
    uses_memory(&node, &next, 500 * MIB);
    pass(300.0).await;
    node.usage.set(|seen| seen.memory = left(50 * MIB));
    pass(25.0).await;
    assert_eq!(evicted(&node, &["bomb-2", "next", "tame"]), [true, false, false]);
    pass(25.0).await;
    assert_eq!(evicted(&node, &["bomb-2", "next", "tame"]), [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_end_in_its_time_is_notified_of_and_the_next_one_goes_after_two_minutes() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    node.runtime.add_image("immortal:1", FakeImage::present(Behaviour::CannotBeStopped));
    let stuck = api_pod("stuck", json!({"containers": [{"name": "app", "image": "immortal:1"}]}));
    let next = clinging("next", "1Mi");
    node.source.put_as_is("pods", vec![stuck.clone(), next.clone()]);
    uses_memory(&node, &stuck, GIB);
    uses_memory(&node, &next, 100 * MIB);
    pass(12.0).await;
    node.usage.set(|seen| seen.memory = left(1));
    pass(20.0).await;
    assert_eq!(evicted(&node, &["stuck", "next"]), [true, false]);
    let reported = events(&node, "stuck");
    let late = "ExceededGracePeriod ×1 Container runtime did not kill the pod within specified grace period.";
    assert!(reported.contains(late), "{reported}");
    // It is waited for four times, half a minute each.
    pass(105.0).await;
    assert_eq!(evicted(&node, &["stuck", "next"]), [true, false]);
    pass(8.0).await;
    assert_eq!(evicted(&node, &["stuck", "next"]), [true, true]);
    pass(60.0).await;
    assert_eq!(events(&node, "stuck").matches("Evicted ×1").count(), 1, "{}", events(&node, "stuck"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_goes_before_one_that_does_not_end_ends_after_half_a_minute() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    node.runtime.add_image("immortal:1", FakeImage::present(Behaviour::CannotBeStopped));
    let stuck = api_pod("stuck", json!({"containers": [{"name": "app", "image": "immortal:1"}]}));
    let (bomb, tame) = (clinging("bomb", "1Mi"), clinging("tame", "1Mi"));
    node.source.put_as_is("pods", vec![stuck.clone(), bomb.clone(), tame.clone()]);
    uses_memory(&node, &stuck, GIB);
    uses_memory(&node, &bomb, 100 * MIB);
    uses_memory(&node, &tame, 10 * MIB);
    pass(12.0).await;
    node.usage.set(|seen| seen.memory = left(1));
    pass(20.0).await;
    uses_memory(&node, &bomb, 2 * GIB);
    pass(15.0).await;
    let names = ["stuck", "bomb", "tame"];
    assert_eq!(evicted(&node, &names), [true, false, false]);
    pass(15.0).await;
    assert_eq!(evicted(&node, &names), [true, true, false]);
    // Then the first one is the next again.
    pass(40.0).await;
    assert_eq!(evicted(&node, &names), [true, true, false]);
}
