//! What becomes of parts that end.

use super::*;

#[tokio::test]
async fn a_part_that_ends_or_panics_is_notified_of_unless_it_was_asked_to_end() {
    type Part = fn() -> futures::future::BoxFuture<'static, ()>;
    let cases: [(Part, Option<&str>); 4] = [
        (|| Box::pin(async {}), Some("PLEG ended unexpectedly")),
        (|| Box::pin(async { panic!("no way") }), Some("PLEG ended unexpectedly: it panicked: no way")),
        (|| Box::pin(async { panic!("{} ways", 2) }), Some("PLEG ended unexpectedly: it panicked: 2 ways")),
        (
            || Box::pin(async { std::panic::panic_any(7) }),
            Some("PLEG ended unexpectedly: it panicked: without a message"),
        ),
    ];
    for (part, expected) in cases {
        for stops in [false, true] {
            let stop = CancellationToken::new();
            let (ended, mut unexpected) = mpsc::channel(1);
            let mut tasks = JoinSet::new();
            Lifeline { stop: stop.clone(), ended }.spawn(&mut tasks, "PLEG", part());
            if stops {
                stop.cancel();
            }
            while tasks.join_next().await.is_some() {}
            let reported = unexpected.recv().await.map(|error| error.to_string());
            assert_eq!(reported.as_deref(), expected.filter(|_| !stops));
        }
    }
}
