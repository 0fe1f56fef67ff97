//! What serves while a source changes, breaks and comes back, also over a restart.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use witlet_ports::{Artifact, ArtifactError, Target};

use super::*;

mod remote;

/// A clock that stands still until a test moves it.
#[derive(Default)]
pub(in crate::host) struct ManualClock(Mutex<Duration>);

impl ManualClock {
    fn pass(&self, time: Duration) {
        *self.0.lock().expect("not poisoned") += time;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + *self.0.lock().expect("not poisoned")
    }
}

fn store(config: DataConfig) -> DataStore {
    DataStore::new(config, Arc::new(ManualClock::default()))
}

fn entry(name: &str, source: DataSource) -> DataEntry {
    DataEntry { name: name.to_owned(), source, refresh: None, max_age: None }
}

/// A folder with one source, and one for what is kept.
struct Rig {
    folder: tempfile::TempDir,
    store: DataStore,
}

impl Rig {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = DataConfig { folder: Some(folder.path().join("kept")), ..DataConfig::default() };
        Self { folder, store: store(kept) }
    }

    fn restart(self) -> Self {
        let kept = DataConfig { folder: Some(self.folder.path().join("kept")), ..DataConfig::default() };
        Self { store: store(kept), ..self }
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join("list"), bytes).expect("writable");
    }

    fn remove(&self) {
        std::fs::remove_file(self.folder.path().join("list")).expect("it is there");
    }

    fn source(&self) -> DataSource {
        DataSource::File(self.folder.path().join("list"))
    }

    /// Reads it, and returns what changed: the beginning of the problem and of the digest.
    async fn read(&mut self) -> Vec<(Option<String>, Option<String>)> {
        self.store.want(&[entry("allowed", self.source())], Path::new("/"));
        let changes = self.store.read(vec![self.source()]).await;
        self.store.keep().await;
        let path = self.folder.path().display().to_string();
        let short = |digest: String| digest[..4].to_owned();
        let plain = |problem: String| problem.replace(&path, "");
        changes.into_iter().map(|change| (change.problem.map(plain), change.digest.map(short))).collect()
    }

    /// What an entry gets.
    fn bytes(&self) -> Result<Vec<u8>, String> {
        let entry = entry("allowed", DataSource::File("list".into()));
        match self.store.of_entry(&[entry], self.folder.path()) {
            Ok(mut data) => Ok(data.remove(0).snapshot.bytes().to_vec()),
            Err(DataLack::Missing(problem)) => Err(problem),
            Err(DataLack::Pending) => panic!("no one fetches files"),
        }
    }

    fn kept(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("kept")).map_or(0, Iterator::count)
    }
}

/// SHA-256 of `one` and of `two` begin so.
const ONE: &str = "7692";
const TWO: &str = "3fc4";
const GONE: &str = "read /list: No such file or directory (os error 2)";

fn changed(problem: Option<&str>, digest: Option<&str>) -> Vec<(Option<String>, Option<String>)> {
    vec![(problem.map(str::to_owned), digest.map(str::to_owned))]
}

#[tokio::test]
async fn the_last_good_data_serve_while_their_source_is_broken() {
    let mut rig = Rig::start();
    assert_eq!(rig.bytes(), Err("data \"allowed\" not read yet".to_owned()));
    assert_eq!(rig.read().await, changed(Some(GONE), None));
    assert_eq!(
        rig.bytes(),
        Err(format!("failed to read data \"allowed\": {}", GONE.replace("/list", &rig.source().location())))
    );
    assert!(rig.read().await.is_empty(), "the same again is no change");
    rig.write("one");
    assert_eq!(rig.read().await, changed(None, Some(ONE)));
    assert_eq!(rig.bytes(), Ok(b"one".to_vec()));
    assert!(rig.read().await.is_empty());
    rig.remove();
    assert_eq!(rig.read().await, changed(Some(GONE), Some(ONE)));
    assert_eq!(rig.bytes(), Ok(b"one".to_vec()), "the last good ones");
    assert_eq!(rig.store.failing().count(), 1);
    rig.write(vec![0; DATA_BYTES_MAX + 1]);
    assert_eq!(rig.read().await, changed(Some("/list has more than 16777216 bytes (16 MiB)"), Some(ONE)));
    rig.write("two");
    assert_eq!(rig.read().await, changed(None, Some(TWO)));
    assert_eq!((rig.bytes(), rig.store.failing().count()), (Ok(b"two".to_vec()), 0));
    rig.write("");
    assert_eq!(rig.read().await, changed(None, Some("e3b0")), "no bytes are bytes, too");
}

#[tokio::test]
async fn the_last_good_data_outlive_the_host_if_they_are_whole() {
    let mut rig = Rig::start();
    rig.write("one");
    assert_eq!(rig.read().await, changed(None, Some(ONE)));
    rig.remove();
    let mut rig = rig.restart();
    assert_eq!(rig.read().await, changed(Some(GONE), Some(ONE)));
    assert_eq!(rig.bytes(), Ok(b"one".to_vec()));
    let copy = std::fs::read_dir(rig.folder.path().join("kept")).expect("a folder");
    let copy = copy.map(|file| file.expect("a file").path()).find(|path| path.extension().is_none());
    std::fs::write(copy.expect("a copy"), "forged").expect("writable");
    let mut rig = rig.restart();
    assert_eq!(rig.read().await, changed(Some(GONE), None), "a damaged copy is none");
    let index = rig.folder.path().join("kept/index.json");
    std::fs::write(index, "{").expect("writable");
    rig.write("one");
    assert_eq!(rig.read().await, changed(None, Some(ONE)));
    rig.remove();
    let mut rig = rig.restart();
    assert_eq!(rig.read().await, changed(Some(GONE), Some(ONE)), "it was kept again");
}

#[tokio::test]
async fn a_few_of_each_source_are_kept_and_nothing_of_others() {
    let mut rig = Rig::start();
    for number in 0..10 {
        rig.write(number.to_string());
        rig.read().await;
    }
    assert_eq!(rig.kept(), kept::KEPT_MAX + 1, "and the index");
    let other = DataSource::File(rig.folder.path().join("other"));
    std::fs::write(rig.folder.path().join("other"), "x").expect("writable");
    let desired = [entry("other", other.clone())];
    assert_eq!(rig.store.want(&desired, Path::new("/")), std::slice::from_ref(&other));
    rig.store.read(vec![other.clone()]).await;
    rig.store.keep().await;
    assert_eq!(rig.kept(), 2, "of the other source alone");
    assert!(rig.store.want(&desired, Path::new("/")).is_empty(), "it was read");
}

#[tokio::test(start_paused = true)]
async fn data_that_could_not_be_kept_are_kept_later() {
    let mut rig = Rig::start();
    let kept = rig.folder.path().join("kept");
    // A file in the folder's place.
    std::fs::write(&kept, "").expect("writable");
    rig.write("one");
    rig.store.want(&[entry("allowed", rig.source())], Path::new("/"));
    rig.store.read(vec![rig.source()]).await;
    let problem = rig.store.keep().await;
    assert!(problem.is_some_and(|problem| !problem.is_empty()), "it is reported");
    std::fs::remove_file(&kept).expect("it is there");
    assert_eq!(rig.store.keep().await, None);
    assert!(!kept.exists(), "not again at once");
    tokio::time::advance(refresh::RETRY.initial).await;
    assert_eq!(rig.store.keep().await, None);
    assert_eq!(rig.kept(), 2, "nothing else had to change");
    assert_eq!(rig.read().await, Vec::new());
    let mut rig = rig.restart();
    rig.remove();
    assert_eq!(rig.read().await, changed(Some(GONE), Some(ONE)));
}

#[tokio::test(start_paused = true)]
async fn a_file_ages_while_it_cannot_be_read_also_over_a_restart() {
    let mut rig = Rig::start();
    let hour = Duration::from_secs(3600);
    let aging = DataEntry { max_age: Some(hour), ..entry("allowed", rig.source()) };
    let is_too_old = |rig: &Rig| {
        let data = rig.store.of_entry(std::slice::from_ref(&aging), Path::new("/")).expect("they serve");
        data[0].is_too_old(Instant::now())
    };
    let check = async |rig: &mut Rig| {
        rig.store.want(std::slice::from_ref(&aging), Path::new("/"));
        rig.store.read(vec![rig.source()]).await;
        rig.store.keep().await;
    };
    rig.write("one");
    check(&mut rig).await;
    tokio::time::advance(2 * hour).await;
    assert!(!is_too_old(&rig), "what can be read is the newest");
    rig.remove();
    check(&mut rig).await;
    tokio::time::advance(hour).await;
    assert!(!is_too_old(&rig));
    // By the wall clock no time has passed: it goes on from there.
    let mut rig = rig.restart();
    check(&mut rig).await;
    assert!(!is_too_old(&rig));
    tokio::time::advance(hour + Duration::from_secs(1)).await;
    check(&mut rig).await;
    assert!(is_too_old(&rig));
    rig.write("one");
    check(&mut rig).await;
    assert!(!is_too_old(&rig), "the same again, and it can be read");
}
