//! Tests of pulls on a registry by script and paused time.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;

use super::*;

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// A registry that takes a second for each image, and wants a password for those of `private/`.
#[derive(Default)]
struct Registry {
    log: Mutex<Vec<String>>,
    running: Mutex<(usize, usize)>,
}

impl Registry {
    fn log(&self) -> Vec<String> {
        self.log.lock().expect("no panic").clone()
    }

    /// The most pulls at the same time.
    fn peak(&self) -> usize {
        self.running.lock().expect("no panic").1
    }
}

#[async_trait]
impl ImagePort for Registry {
    async fn status(&self, image: &str) -> Result<Option<ImageInfo>, RuntimeError> {
        Ok(Some(ImageInfo {
            id: image.to_owned(),
            repo_tags: Vec::new(),
            repo_digests: Vec::new(),
            size_bytes: 7,
            uid: None,
            username: String::new(),
            pinned: false,
        }))
    }

    async fn pull(
        &self,
        image: &str,
        auth: Option<&ImageAuth>,
        _: &SandboxSpec,
    ) -> Result<String, RuntimeError> {
        let user = auth.map_or("anonymous", |auth| &auth.username);
        self.log.lock().expect("no panic").push(format!("{image} as {user}"));
        {
            let mut running = self.running.lock().expect("no panic");
            running.0 += 1;
            running.1 = running.1.max(running.0);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.running.lock().expect("no panic").0 -= 1;
        if image.starts_with("private/") && user != "friend" {
            return Err(RuntimeError::failed("PullImage", format!("{user} may not")));
        }
        Ok(format!("{image}@pinned"))
    }
}

const UNLIMITED: ImagePullLimits =
    ImagePullLimits { serialize: false, parallel_max: None, per_second: 0, burst: 0 };

fn pulls(limits: ImagePullLimits) -> (Arc<Registry>, Pulls) {
    let registry = Arc::new(Registry::default());
    (registry.clone(), Pulls::new(registry, Arc::new(StoppedClock), limits))
}

fn request(image: &str, users: &[&str]) -> PullRequest {
    let auth = |user: &&str| ImageAuth { username: (*user).to_owned(), ..ImageAuth::default() };
    let credentials = users.iter().map(auth).collect();
    PullRequest { image: image.to_owned(), credentials, sandbox: SandboxSpec::default() }
}

#[tokio::test(start_paused = true)]
async fn so_many_are_pulled_at_the_same_time_as_the_limits_say() {
    for (name, limits, seconds, peak) in [
        ("one after the other", ImagePullLimits { serialize: true, ..UNLIMITED }, 6, 1),
        ("serial wins", ImagePullLimits { serialize: true, parallel_max: Some(3), ..UNLIMITED }, 6, 1),
        ("two", ImagePullLimits { parallel_max: Some(2), ..UNLIMITED }, 3, 2),
        ("none would be nothing", ImagePullLimits { parallel_max: Some(0), ..UNLIMITED }, 6, 1),
        ("any number", UNLIMITED, 1, 6),
    ] {
        let (registry, pulls) = pulls(limits);
        let begun = Instant::now();
        let images: Vec<String> = (0..6).map(|n| format!("image:{n}")).collect();
        let results = join_all(images.iter().map(|image| pulls.pull(request(image, &[])))).await;
        assert!(results.iter().all(Result::is_ok), "{name}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{name}");
        assert_eq!(registry.peak(), peak, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_that_want_the_same_image_share_one_pull_and_the_next_pull_is_a_new_one() {
    let (registry, pulls) = pulls(UNLIMITED);
    let both = join_all([pulls.pull(request("a", &[])), pulls.pull(request("a", &[]))]).await;
    for pulled in both {
        assert_eq!(pulled.expect("the registry has it").image_ref, "a@pinned");
    }
    assert_eq!(registry.log(), ["a as anonymous"]);
    pulls.pull(request("a", &[])).await.expect("the registry has it");
    assert_eq!(registry.log().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_pull_with_other_credentials_or_for_another_handler_is_not_shared() {
    let (registry, pulls) = pulls(UNLIMITED);
    let mut other_handler = request("a", &["friend"]);
    other_handler.sandbox.runtime_handler = "vm".to_owned();
    let requests = [request("a", &["friend"]), request("a", &[]), other_handler];
    join_all(requests.map(|request| pulls.pull(request))).await;
    assert_eq!(registry.log().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_pull_goes_on_while_anyone_waits_for_it_and_ends_with_the_last() {
    let (registry, pulls) = pulls(UNLIMITED);
    let half = Duration::from_millis(500);
    let impatient = tokio::time::timeout(half, pulls.pull(request("a", &[])));
    let (gave_up, got) = tokio::join!(impatient, pulls.pull(request("a", &[])));
    assert!(gave_up.is_err() && got.is_ok());
    assert_eq!(registry.log().len(), 1);
    let alone = tokio::time::timeout(half, pulls.pull(request("b", &[]))).await;
    assert!(alone.is_err());
    pulls.pull(request("b", &[])).await.expect("the registry has it");
    assert_eq!(
        registry.log(),
        ["a as anonymous", "b as anonymous", "b as anonymous"],
        "what no one waited for is gone"
    );
}

#[tokio::test(start_paused = true)]
async fn credentials_are_tried_in_their_order_until_one_works() {
    for (users, tried, result) in [
        (vec![], vec!["anonymous"], Err("anonymous may not")),
        (vec!["friend", "other"], vec!["friend"], Ok("friend")),
        (vec!["other", "friend"], vec!["other", "friend"], Ok("friend")),
        (vec!["other"], vec!["other"], Err("other may not")),
        (vec!["x", "y"], vec!["x", "y"], Err("[x may not, y may not]")),
    ] {
        let (registry, pulls) = pulls(UNLIMITED);
        let pulled = pulls.pull(request("private/a", &users)).await;
        let tried: Vec<String> = tried.into_iter().map(|user| format!("private/a as {user}")).collect();
        assert_eq!(registry.log(), tried);
        match (pulled, result) {
            (Ok(pulled), Ok(user)) => assert_eq!(pulled.credentials.expect("some worked").username, user),
            (Err(error), Err(message)) => assert_eq!(error.to_string(), message),
            (pulled, result) => panic!("{users:?}: {pulled:?} instead of {result:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pulls_beyond_the_rate_fail_at_once_and_work_again_later() {
    let limits = ImagePullLimits { per_second: 1, burst: 2, ..UNLIMITED };
    let (registry, pulls) = pulls(limits);
    let images = ["a", "b", "c"];
    let results = join_all(images.map(|image| pulls.pull(request(image, &[])))).await;
    let failed: Vec<String> = results.into_iter().filter_map(Result::err).map(|e| e.to_string()).collect();
    assert_eq!(failed, ["pull QPS exceeded"]);
    assert_eq!(registry.log().len(), 2);
    pulls.pull(request("c", &[])).await.expect("a second has passed");
}
