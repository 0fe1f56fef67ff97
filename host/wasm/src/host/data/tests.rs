//! What serves while a source changes, breaks and comes back, also over a restart.

use super::*;

/// A folder with one source, and one for what is kept.
struct Rig {
    folder: tempfile::TempDir,
    store: DataStore,
}

impl Rig {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = DataStore::new(Some(folder.path().join("kept")));
        Self { folder, store }
    }

    fn restart(self) -> Self {
        let store = DataStore::new(Some(self.folder.path().join("kept")));
        Self { store, ..self }
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
        let changes = self.store.read(vec![self.source()]).await;
        self.store.keep().await;
        let path = self.folder.path().display().to_string();
        let short = |digest: String| digest[..4].to_owned();
        let plain = |problem: String| problem.replace(&path, "");
        changes.into_iter().map(|change| (change.problem.map(plain), change.digest.map(short))).collect()
    }

    /// What an entry gets.
    fn bytes(&self) -> Result<Vec<u8>, String> {
        let entry = DataEntry { name: "allowed".to_owned(), source: DataSource::File("list".into()) };
        let mut data = self.store.of_entry(&[entry], self.folder.path())?;
        Ok(data.remove(0).snapshot.bytes().to_vec())
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
    assert_eq!(rig.bytes(), Err("its data \"allowed\" weren't read yet".to_owned()));
    assert_eq!(rig.read().await, changed(Some(GONE), None));
    assert_eq!(
        rig.bytes(),
        Err(format!(
            "its data \"allowed\" can't be had: {}",
            GONE.replace("/list", &rig.source().location())
        ))
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
    assert_eq!(rig.store.want([other.clone()].into()), std::slice::from_ref(&other));
    rig.store.read(vec![other.clone()]).await;
    rig.store.keep().await;
    assert_eq!(rig.kept(), 2, "of the other source alone");
    assert!(rig.store.want([other].into()).is_empty(), "it was read");
}
