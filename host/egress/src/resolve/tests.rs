//! The node's resolver on loopback names, and its bounds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use futures::FutureExt as _;

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

/// Resolves by a function, as no name server of the machine decides it.
async fn resolve_by(
    look_up: impl FnOnce() -> io::Result<std::vec::IntoIter<SocketAddr>> + Send + 'static,
) -> Result<Vec<IpAddr>, ResolveError> {
    ends(SystemResolver::new().resolve_by(&name("a.example"), look_up)).await
}

#[tokio::test]
async fn a_name_that_is_not_found_is_an_error_in_the_resolvers_words() {
    for library in
        ["failed to lookup address information: Name or service not known", "Name or service not known"]
    {
        let error = resolve_by(move || Err(io::Error::other(library))).await.expect_err("it isn't found");
        assert_eq!(error.to_string(), "lookup a.example: Name or service not known");
    }
}

#[tokio::test]
async fn addresses_are_used_once_each_and_only_so_many() {
    let addresses = |count: u8| (0..count).map(|n| SocketAddr::from(([192, 0, 2, n], 0)));
    let found =
        resolve_by(move || Ok(addresses(2).chain(addresses(2)).collect::<Vec<_>>().into_iter())).await;
    assert_eq!(found.expect("found"), addresses(2).map(|found| found.ip()).collect::<Vec<_>>());
    let found = resolve_by(move || Ok(addresses(40).collect::<Vec<_>>().into_iter())).await;
    assert_eq!(found.expect("found").len(), ADDRESSES_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_hangs_is_given_up_after_its_time() {
    let (resolver, asked) = (SystemResolver::new(), name("a.example"));
    // The lookup that holds the permit never ends.
    let permits = resolver.own.clone().acquire_many_owned(LOOKUPS_SHARE as u32).await.expect("capacity");
    let begun = tokio::time::Instant::now();
    let error = resolver.resolve(&asked).await.expect_err("it hangs");
    assert_eq!(error, ResolveError::Timeout { name: asked.to_string() });
    assert_eq!(begun.elapsed(), LOOKUP_TIME_MAX);
    drop(permits);
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
            let _ = wait.lock().expect("the lock is not poisoned").recv();
            Ok(())
        };
        resolver.on_own_thread(look_up).await
    }

    /// Asks for one more and gives it up at once.
    fn give_up(&self, resolver: &SystemResolver) {
        assert!(self.look_up(resolver).now_or_never().is_none(), "it hangs");
    }

    /// How many lookups began, once `release` has let all of them go.
    async fn begun(self, release: mpsc::SyncSender<()>) -> usize {
        drop(release);
        let all_ended = async {
            while Arc::strong_count(&self.begun) > 1 {
                tokio::task::yield_now().await;
            }
        };
        ends(all_ended).await;
        self.begun.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn lookups_that_hang_take_no_more_threads_than_there_are_permits_for() {
    let resolver = SystemResolver::with_capacity(3, 2);
    let (hung, release) = Hung::new();
    for _ in 0..20 {
        hung.give_up(&resolver);
    }
    // Their callers are gone, and the capacity is taken all the same. Another plugin has a share of its own.
    let other = SystemResolver { all: resolver.all.clone(), own: Arc::new(Semaphore::new(2)) };
    ends(other.on_own_thread(|| Ok(()))).await.expect("there is capacity");
    assert_eq!(hung.begun(release).await, 2);
    ends(resolver.on_own_thread(|| Ok(()))).await.expect("there is capacity again");
}

#[tokio::test]
async fn all_plugins_together_have_bounded_capacity() {
    let first = SystemResolver::new();
    let (hung, release) = Hung::new();
    for _ in 0..LOOKUPS_MAX {
        let plugin = first.share();
        for _ in 0..=LOOKUPS_SHARE {
            hung.give_up(&plugin);
        }
    }
    assert_eq!(hung.begun(release).await, LOOKUPS_MAX);
    ends(first.on_own_thread(|| Ok(()))).await.expect("there is capacity again");
}
