//! Tests of how the grace of a container is shared out, on paused time.

use super::*;

async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn the_runtime_gets_what_hooks_and_waiting_have_left_in_whole_seconds_and_at_least_two() {
    for (grace_seconds, used_ms, left) in [
        (30, 0, 30),
        (30, 999, 30),
        (30, 1000, 29),
        (30, 27_900, 3),
        (30, 29_000, 2),
        (30, 31_000, 2),
        (2, 0, 2),
        (1, 0, 2),
        (0, 0, 2),
        (-5, 0, 2),
    ] {
        let grace = Grace::begin(grace_seconds);
        pass(used_ms).await;
        assert_eq!(grace.left_for_stop().as_secs(), left, "{used_ms} ms of {grace_seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn its_turn_comes_when_all_that_it_waits_for_have_ended_or_its_grace_is_over() {
    let ids = [ContainerId::from("a"), ContainerId::from("b")];
    for (name, ends, waits_ms) in [
        ("both end", vec![(100, 0), (200, 1)], 200),
        ("one doesn't", vec![(100, 0)], 10_000),
        ("others don't matter", vec![], 10_000),
    ] {
        let (ended, grace) = (EndedContainers::default(), Grace::begin(10));
        let ending = async {
            for (at_ms, index) in ends {
                tokio::time::sleep_until(grace.begun + Duration::from_millis(at_ms)).await;
                ended.send_modify(|ended| {
                    ended.insert(ids[index].clone());
                });
            }
            ended.send_modify(|ended| {
                ended.insert(ContainerId::from("other"));
            });
        };
        tokio::join!(ending, grace.wait_for_all(&ended, &ids));
        assert_eq!(grace.begun.elapsed().as_millis(), waits_ms, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_nothing_does_not_wait() {
    let grace = Grace::begin(10);
    grace.wait_for_all(&EndedContainers::default(), &[]).await;
    assert_eq!(grace.begun.elapsed(), Duration::ZERO);
}
