//! The node's resolver on loopback names, and its bounds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use super::*;
use crate::testing::ends;

fn name(text: &str) -> HostName {
    text.parse().expect("it is a name")
}

#[tokio::test]
async fn loopback_has_a_name_everywhere() {
    let found = ends(SystemResolver::new().resolve(&name("localhost"))).await.expect("it is in /etc/hosts");
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
}

#[tokio::test]
async fn a_name_that_nobody_has_is_an_error_that_says_so() {
    // RFC 6761 keeps `.invalid` from ever existing.
    let error =
        ends(SystemResolver::new().resolve(&name("nobody.invalid"))).await.expect_err("nobody has it");
    assert!(error.to_string().starts_with("lookup nobody.invalid: "), "{error}");
    assert!(!error.to_string().contains("failed to lookup"), "{error}");
}

/// Lookups that hang until the sender is dropped.
struct Hung {
    begun: Arc<AtomicUsize>,
    wait: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Hung {
    fn new() -> (Self, mpsc::SyncSender<()>) {
        let (release, wait) = mpsc::sync_channel(0);
        (Self { begun: Arc::default(), wait: Arc::new(Mutex::new(wait)) }, release)
    }

    async fn look_up(&self, resolver: &SystemResolver) -> io::Result<()> {
        let (begun, wait) = (self.begun.clone(), self.wait.clone());
        let look_up = move || {
            begun.fetch_add(1, Ordering::SeqCst);
            let _ = wait.lock().expect("nobody panics with it").recv();
            Ok(())
        };
        resolver.beside(look_up).await
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn lookups_that_hang_take_no_more_threads_than_there_is_room_for() {
    let resolver = SystemResolver::with_room(3, 2);
    let (hung, release) = Hung::new();
    for _ in 0..20 {
        let given_up = tokio::time::timeout(Duration::from_millis(5), hung.look_up(&resolver)).await;
        given_up.expect_err("it hangs");
    }
    // Their callers are long gone, and the room is taken all the same.
    assert!(hung.begun() <= 2, "{}", hung.begun());
    // Another plugin has a share of its own.
    let other = SystemResolver { all: resolver.all.clone(), own: Arc::new(Semaphore::new(2)) };
    ends(other.beside(|| Ok(()))).await.expect("there is room");
    drop(release);
    ends(resolver.beside(|| Ok(()))).await.expect("there is room again");
}

#[tokio::test]
async fn all_plugins_together_have_bounded_room() {
    let first = SystemResolver::new();
    let (hung, release) = Hung::new();
    for _ in 0..LOOKUPS_MAX {
        let plugin = first.share();
        for _ in 0..=LOOKUPS_SHARE {
            let given_up = tokio::time::timeout(Duration::from_millis(2), hung.look_up(&plugin)).await;
            given_up.expect_err("it hangs");
        }
    }
    assert!(hung.begun() <= LOOKUPS_MAX, "{}", hung.begun());
    drop(release);
    ends(first.beside(|| Ok(()))).await.expect("there is room again");
}
