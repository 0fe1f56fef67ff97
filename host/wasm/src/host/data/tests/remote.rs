//! Data that are fetched: when, what serves meanwhile, and what a restart goes on with.

use std::collections::VecDeque;

use super::*;

/// A registry that answers by its script, and notes what it was asked.
#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Result<Artifact, &'static str>>>,
    known: Mutex<Vec<Option<String>>>,
}

#[async_trait]
impl ArtifactFetcher for Script {
    async fn artifact(
        &self,
        target: &Target,
        _credentials: Option<&Path>,
        known: Option<&str>,
        _bytes_max: u64,
    ) -> Result<Artifact, ArtifactError> {
        self.known.lock().expect("not poisoned").push(known.map(str::to_owned));
        let answer = self.answers.lock().expect("not poisoned").pop_front();
        let failed = |cause: &str| ArtifactError { target: target.clone(), cause: cause.into() };
        answer.expect("no more is asked than there are answers").map_err(failed)
    }
}

fn version(digest: &str, bytes: Option<&str>) -> Result<Artifact, &'static str> {
    Ok(Artifact { digest: digest.to_owned(), bytes: bytes.map(|bytes| bytes.as_bytes().to_vec()) })
}

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);
const PIN: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Remote {
    folder: tempfile::TempDir,
    script: Arc<Script>,
    clock: Arc<ManualClock>,
    store: DataStore,
    fetches: JoinSet<FetchedData>,
    entry: DataEntry,
}

impl Remote {
    fn start(target: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::on(folder, target, false, Arc::default())
    }

    fn on(folder: tempfile::TempDir, target: &str, offline: bool, clock: Arc<ManualClock>) -> Self {
        let script = Arc::new(Script::default());
        let target: Target = target.parse().expect("a reference");
        let is_pinned = target.digest().is_some();
        let source = DataSource::Remote(RemoteData::Artifact { target, credentials: None });
        let refresh = Some(HOUR).filter(|_| !is_pinned);
        let entry = DataEntry { refresh, max_age: refresh.map(|every| 3 * every), ..entry("list", source) };
        let config = DataConfig {
            folder: Some(folder.path().join("kept")),
            artifacts: Some(script.clone()),
            jitter: None,
            offline,
        };
        let store = DataStore::new(config, clock.clone());
        Self { folder, script, clock, store, fetches: JoinSet::new(), entry }
    }

    fn answers(&self, answer: Result<Artifact, &'static str>) {
        self.script.answers.lock().expect("not poisoned").push_back(answer);
    }

    async fn pass(&self, time: Duration) {
        self.clock.pass(time);
        tokio::time::advance(time).await;
    }

    /// Checks as each second does. Returns the change that a fetch brought: the beginnings of problem and digest.
    async fn check(&mut self) -> Option<(Option<String>, Option<String>)> {
        let new = self.store.want([&self.entry], Path::new("/"));
        self.store.read(new).await;
        self.store.fetch_due(&mut self.fetches);
        let fetched = self.fetches.join_next().await?.expect("it ends");
        let change = self.store.fetched(fetched);
        self.store.keep().await;
        let DataChange { problem, digest, .. } = change?;
        Some((problem, digest.map(|digest| digest[..4].to_owned())))
    }

    fn data(&self) -> Result<Data, DataLack> {
        let data = self.store.of_entry(std::slice::from_ref(&self.entry), Path::new("/"));
        data.map(|mut data| data.remove(0))
    }

    fn is_too_old(&self) -> bool {
        self.data().expect("they serve").is_too_old(Instant::now())
    }

    fn asked(&self) -> usize {
        self.script.known.lock().expect("not poisoned").len()
    }
}

fn now(problem: Option<&str>, digest: Option<&str>) -> Option<(Option<String>, Option<String>)> {
    Some((problem.map(str::to_owned), digest.map(str::to_owned)))
}

const TARGET: &str = "oci://registry.example.com/lists:1";
const BROKEN: &str = "fetch oci://registry.example.com/lists:1: broken";

#[tokio::test(start_paused = true)]
async fn data_are_fetched_again_after_their_interval_and_what_fails_less_and_less_often() {
    let mut remote = Remote::start(TARGET);
    remote.answers(Err("broken"));
    let new = remote.store.want([&remote.entry], Path::new("/"));
    remote.store.read(new).await;
    assert_eq!(remote.data(), Err(DataLack::Pending), "nothing is known yet");
    assert_eq!(remote.check().await, now(Some(BROKEN), None));
    let lack = DataLack::Missing(format!("failed to read data \"list\": {BROKEN}"));
    assert_eq!(remote.data(), Err(lack));
    assert_eq!(remote.check().await, None, "not again at once");
    remote.answers(Err("broken"));
    remote.pass(10 * SECOND).await;
    assert_eq!(remote.check().await, None, "the same problem is no change");
    assert_eq!(remote.asked(), 2);
    remote.pass(19 * SECOND).await;
    assert_eq!((remote.check().await, remote.asked()), (None, 2));
    remote.answers(version("m1", Some("one")));
    remote.pass(SECOND).await;
    assert_eq!(remote.check().await, now(None, Some(ONE)));
    assert_eq!(remote.data().expect("they serve").snapshot.bytes(), b"one");
    remote.answers(version("m1", None));
    remote.pass(HOUR).await;
    assert_eq!((remote.check().await, remote.asked()), (None, 4), "they are what they were");
    remote.answers(version("m2", Some("two")));
    remote.pass(HOUR).await;
    assert_eq!(remote.check().await, now(None, Some(TWO)));
    let known = remote.script.known.lock().expect("not poisoned").clone();
    let known: Vec<Option<&str>> = known.iter().map(Option::as_deref).collect();
    assert_eq!(known, [None, None, None, Some("m1"), Some("m1")]);
}

#[tokio::test(start_paused = true)]
async fn the_last_good_data_serve_while_newer_ones_cannot_be_had_and_age() {
    let mut remote = Remote::start(TARGET);
    remote.answers(version("m1", Some("one")));
    assert_eq!(remote.check().await, now(None, Some(ONE)));
    remote.answers(Err("broken"));
    remote.pass(HOUR).await;
    assert_eq!(remote.check().await, now(Some(BROKEN), Some(ONE)));
    assert!(!remote.is_too_old());
    remote.pass(2 * HOUR).await;
    assert!(!remote.is_too_old());
    remote.pass(SECOND).await;
    assert!(remote.is_too_old(), "three hours after they were fetched");
    remote.answers(version("m1", None));
    assert_eq!(remote.check().await, now(None, Some(ONE)), "they are the newest again");
    assert!(!remote.is_too_old());
}

#[tokio::test(start_paused = true)]
async fn a_restart_goes_on_with_what_was_fetched_and_knows_how_old_it_is() {
    let mut remote = Remote::start(TARGET);
    remote.answers(version("m1", Some("one")));
    assert_eq!(remote.check().await, now(None, Some(ONE)));
    let Remote { folder, clock, .. } = remote;
    clock.pass(2 * HOUR);
    let mut remote = Remote::on(folder, TARGET, false, clock);
    let new = remote.store.want([&remote.entry], Path::new("/"));
    let changes = remote.store.read(new).await;
    assert_eq!(changes.len(), 1, "they serve before anything is fetched: {changes:?}");
    assert_eq!(remote.data().expect("they serve").snapshot.bytes(), b"one");
    assert!(!remote.is_too_old());
    remote.answers(Err("broken"));
    assert_eq!(remote.check().await, now(Some(BROKEN), Some(ONE)));
    assert_eq!(*remote.script.known.lock().expect("not poisoned"), [Some("m1".to_owned())]);
    tokio::time::advance(HOUR + SECOND).await;
    assert!(remote.is_too_old(), "three hours since they were fetched, a restart between");
}

#[tokio::test(start_paused = true)]
async fn what_a_digest_names_is_fetched_once() {
    let target = format!("oci://registry.example.com/lists@{PIN}");
    let mut remote = Remote::start(&target);
    remote.answers(version(PIN, Some("one")));
    assert_eq!(remote.check().await, now(None, Some(ONE)));
    remote.pass(1000 * HOUR).await;
    assert_eq!((remote.check().await, remote.asked()), (None, 1));
    let Remote { folder, clock, .. } = remote;
    let mut remote = Remote::on(folder, &target, false, clock);
    assert_eq!((remote.check().await, remote.asked()), (None, 0), "also after a restart");
    assert_eq!(remote.data().expect("they serve").snapshot.bytes(), b"one");
}

#[tokio::test(start_paused = true)]
async fn without_a_network_data_are_what_was_kept_and_nothing_is_written() {
    let mut remote = Remote::start(TARGET);
    remote.answers(version("m1", Some("one")));
    remote.check().await;
    let Remote { folder, clock, .. } = remote;
    let kept = folder.path().join("kept");
    let mut remote = Remote::on(folder, TARGET, true, clock);
    assert_eq!((remote.check().await, remote.asked()), (None, 0));
    assert_eq!(remote.data().expect("they serve").snapshot.bytes(), b"one");
    let before = std::fs::read(kept.join("index.json")).expect("it is there");
    let other = "oci://registry.example.com/other:1";
    let Remote { folder, clock, .. } = remote;
    let mut remote = Remote::on(folder, other, true, clock);
    assert_eq!((remote.check().await, remote.asked()), (None, 0));
    let lack = format!("failed to read data \"list\": {other} not found in the kept data (--kept-data)");
    assert_eq!(remote.data(), Err(DataLack::Missing(lack)));
    assert_eq!(std::fs::read(kept.join("index.json")).expect("it is there"), before);
}

#[tokio::test(start_paused = true)]
async fn what_no_entry_wants_any_more_is_not_fetched() {
    let mut remote = Remote::start(TARGET);
    let new = remote.store.want([&remote.entry], Path::new("/"));
    remote.store.read(new).await;
    remote.store.fetch_due(&mut remote.fetches);
    assert!(remote.store.want([], Path::new("/")).is_empty());
    let ended = remote.fetches.join_next().await.expect("one was begun");
    assert!(ended.is_err_and(|error| error.is_cancelled()));
    assert_eq!(remote.asked(), 0);
}

#[test]
fn of_two_entries_the_shorter_times_count() {
    let wish = |refresh, max_age| RefreshPolicy { refresh, max_age };
    let both = wish(Some(HOUR), None).and(wish(Some(SECOND), Some(HOUR)));
    assert_eq!(both, wish(Some(SECOND), Some(HOUR)));
}
