//! Answers are remembered, shared and forgotten.

use std::cell::Cell;
use std::time::Duration;

use witlet_ports::AccessError;

use super::{Key, Memory};

fn key(n: u8) -> Key {
    [n; 32]
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn answers_are_known_as_long_as_was_said() {
    let memory = Memory::new(8);
    let asked = Cell::new(0);
    let ask = || async {
        asked.set(asked.get() + 1);
        Ok(asked.get())
    };
    assert_eq!(memory.ask(key(1), ask(), |_| LONG).await, Ok(1));
    assert_eq!(memory.ask(key(1), ask(), |_| LONG).await, Ok(1));
    assert_eq!(memory.ask(key(2), ask(), |_| LONG).await, Ok(2));
    tokio::time::advance(LONG).await;
    assert_eq!(memory.ask(key(1), ask(), |_| LONG).await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_reported_to_those_who_waited_and_to_no_one_after() {
    let memory: Memory<u32> = Memory::new(8);
    let asked = Cell::new(0);
    let fail = || async {
        asked.set(asked.get() + 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err(AccessError { message: "down".to_owned() })
    };
    let all = (0..20).map(|_| memory.ask(key(1), fail(), |_| LONG));
    assert!(futures::future::join_all(all).await.iter().all(Result::is_err));
    assert_eq!(asked.get(), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(memory.ask(key(1), async { Ok(7) }, |_| LONG).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn who_stops_waiting_leaves_the_question_to_the_next() {
    let memory: Memory<u32> = Memory::new(8);
    let gone = memory.ask(key(1), std::future::pending(), |_| LONG);
    assert!(tokio::time::timeout(LONG, gone).await.is_err());
    assert_eq!(memory.ask(key(1), async { Ok(7) }, |_| LONG).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_full_memory_forgets_what_ends_first() {
    let memory = Memory::new(3);
    for n in 1..=3_u8 {
        let known = Duration::from_secs(u64::from(10 * n));
        assert_eq!(memory.ask(key(n), async { Ok(u32::from(n)) }, |_| known).await, Ok(u32::from(n)));
    }
    assert_eq!(memory.ask(key(4), async { Ok(4) }, |_| LONG).await, Ok(4));
    assert_eq!(memory.ask(key(3), async { Ok(0) }, |_| LONG).await, Ok(3), "ends last and stays");
    assert_eq!(memory.ask(key(1), async { Ok(0) }, |_| LONG).await, Ok(0), "was forgotten");
}

#[tokio::test(start_paused = true)]
async fn more_questions_at_once_than_there_are_places_are_refused() {
    let memory: Memory<u32> = Memory::new(2);
    let mut first = std::pin::pin!(memory.ask(key(1), std::future::pending(), |_| LONG));
    let mut second = std::pin::pin!(memory.ask(key(2), std::future::pending(), |_| LONG));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    assert!(memory.ask(key(3), async { Ok(3) }, |_| LONG).await.is_err());
}
