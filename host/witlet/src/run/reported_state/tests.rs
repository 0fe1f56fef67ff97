//! A disk that is full for a while, on paused time.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[derive(Default)]
struct Disk {
    is_full: AtomicBool,
}

#[async_trait]
impl StateStore for Disk {
    async fn load(&self, _: &str) -> Result<Option<Vec<u8>>, FilesError> {
        Ok(None)
    }

    async fn save(&self, name: &str, _: &[u8]) -> Result<(), FilesError> {
        if !self.is_full.load(Ordering::Relaxed) {
            return Ok(());
        }
        let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Err(FilesError { action: "write", path: name.into(), cause })
    }
}

#[derive(Default)]
struct RecordedEvents(Mutex<Vec<Event>>);

impl EventSink for RecordedEvents {
    fn record(&self, event: Event) {
        self.0.lock().expect("the lock is not poisoned").push(event);
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_makes_the_node_unready_after_a_minute_and_is_reported_until_there_is_capacity() {
    let (disk, reported, stop) =
        (Arc::new(Disk::default()), RecordedEvents::default(), CancellationToken::new());
    let state = ReportedState::new(disk.clone());
    let events = || reported.0.lock().expect("the lock is not poisoned").len();
    let story = async {
        state.save("a", b"").await.expect("there is capacity");
        disk.is_full.store(true, Ordering::Relaxed);
        state.save("a", b"").await.expect_err("there is none");
        sleep(Duration::from_secs(5)).await;
        assert_eq!((events(), state.not_ready()), (1, None));
        sleep(Duration::from_secs(60)).await;
        assert_eq!(events(), 2);
        assert!(
            state.not_ready().expect("a minute is over").starts_with("failed to save the agent's state: ")
        );
        disk.is_full.store(false, Ordering::Relaxed);
        sleep(TRY_INTERVAL).await;
        assert_eq!((events(), state.not_ready()), (2, None), "though no one saved anything since");
        stop.cancel();
    };
    tokio::join!(state.run(&reported, &stop), story);
}
