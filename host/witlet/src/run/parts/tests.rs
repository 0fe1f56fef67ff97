//! Tasks that end, and when.

use super::*;

/// What becomes of a task next to one that runs until the stop.
async fn ends(stops: bool, part: impl Future<Output = ()> + Send + 'static) -> Result<(), PartError> {
    let stop = CancellationToken::new();
    let (mut parts, waits) = (Parts::default(), stop.clone());
    parts.spawn("the other", async move { waits.cancelled().await });
    parts.spawn("the part", part);
    if stops {
        stop.cancel();
    }
    parts.run(&stop).await
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_or_panics_while_the_agent_runs_is_an_error_with_its_name() {
    assert_eq!(ends(true, async {}).await, Ok(()));
    assert_eq!(ends(false, async {}).await, Err(PartError::Ended { name: "the part" }));
    for stops in [true, false] {
        let panics = ends(stops, async { panic!("number {}", 7) }).await;
        let expected = PartError::Panicked { name: "the part", message: "number 7".to_owned() };
        assert_eq!(panics, Err(expected), "also during the stop: {stops}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_cause_of_parts_of_parts_is_reported() {
    let stop = CancellationToken::new();
    let mut parts = Parts::default();
    let inner = stop.clone();
    parts.spawn_whole("the whole", async move {
        let mut parts = Parts::default();
        parts.spawn("the inner part", async {});
        parts.run(&inner).await
    });
    assert_eq!(parts.run(&stop).await, Err(PartError::Ended { name: "the inner part" }));
}
