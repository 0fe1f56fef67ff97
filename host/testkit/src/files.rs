//! Disk ports in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_ports::{FilesError, HostFiles, PodFiles, StateStore};

/// The kubelet's name of the file of ids.
const USER_NAMESPACE: &str = "userns";
/// The agent's own.
const CHECKPOINT: &str = "witlet-checkpoint.json";

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A write that never ends.
#[derive(Debug)]
struct Cut {
    left: usize,
    is_written: bool,
    is_reached: bool,
}

/// Small values that survive a restart of the agent, as long as the test holds on to them.
#[derive(Debug, Default)]
pub struct MemoryStateStore {
    values: Mutex<BTreeMap<String, Vec<u8>>>,
    saves: Mutex<BTreeMap<String, usize>>,
    full: AtomicBool,
    cut: Mutex<Option<Cut>>,
    delay: Mutex<Duration>,
}

impl MemoryStateStore {
    /// What is saved, as text, by name.
    pub fn values(&self) -> BTreeMap<String, String> {
        let text = |value: &Vec<u8>| String::from_utf8_lossy(value).into_owned();
        lock(&self.values).iter().map(|(name, value)| (name.clone(), text(value))).collect()
    }

    /// There is this value under this name.
    pub fn put(&self, name: &str, value: &[u8]) {
        lock(&self.values).insert(name.to_owned(), value.to_vec());
    }

    /// How often something was saved under this name.
    pub fn saves(&self, name: &str) -> usize {
        lock(&self.saves).get(name).copied().unwrap_or_default()
    }

    /// The write of this number from now on, the next one being 0, is cut: it never ends, and is on disk or isn't.
    pub fn cut_write(&self, number: usize, is_written: bool) {
        *lock(&self.cut) = Some(Cut { left: number, is_written, is_reached: false });
    }

    /// Whether a write has been cut since it was to be; then writes end again.
    pub fn take_cut(&self) -> bool {
        let mut cut = lock(&self.cut);
        let is_reached = cut.as_ref().is_some_and(|cut| cut.is_reached);
        if is_reached {
            *cut = None;
        }
        is_reached
    }

    /// How often something was saved.
    pub fn all_saves(&self) -> usize {
        lock(&self.saves).values().sum()
    }

    /// While the disk is full nothing can be saved.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Whether this write is one that never ends.
    fn cuts(&self, name: &str, value: &[u8]) -> bool {
        let mut cut = lock(&self.cut);
        let Some(cut) = cut.as_mut() else { return false };
        if cut.left > 0 {
            cut.left -= 1;
            return false;
        }
        if cut.is_written && !cut.is_reached {
            lock(&self.values).insert(name.to_owned(), value.to_vec());
        }
        cut.is_reached = true;
        true
    }

    /// Each write takes this long from now on.
    pub fn set_delay(&self, delay: Duration) {
        *lock(&self.delay) = delay;
    }
}

#[async_trait]
impl StateStore for MemoryStateStore {
    async fn load(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        Ok(lock(&self.values).get(name).cloned())
    }

    async fn save(&self, name: &str, value: &[u8]) -> Result<(), FilesError> {
        let delay = *lock(&self.delay);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if self.cuts(name, value) {
            return std::future::pending().await;
        }
        if self.full.load(Ordering::Relaxed) {
            let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(FilesError { action: "write", path: name.into(), cause });
        }
        lock(&self.values).insert(name.to_owned(), value.to_vec());
        *lock(&self.saves).entry(name.to_owned()).or_default() += 1;
        Ok(())
    }
}

/// Which pods have folders, and the agent's own files in them.
#[derive(Debug, Default)]
pub struct MemoryPodFiles {
    pods: Mutex<BTreeSet<PodUid>>,
    removed_logs: Mutex<Vec<PathBuf>>,
    logged_restarts: Mutex<BTreeMap<String, u32>>,
    disk: Arc<MemoryStateStore>,
}

/// The name of a file in the folder of a pod.
fn name_of(uid: &PodUid, file: &str) -> String {
    format!("pods/{uid}/{file}")
}

impl MemoryPodFiles {
    /// On the same disk as the other state: what goes wrong there goes wrong here.
    pub fn new(disk: Arc<MemoryStateStore>) -> Self {
        Self { disk, ..Self::default() }
    }

    /// Takes away what this agent keeps of pods, as if a kubelet had run them.
    pub fn forget_checkpoints(&self) {
        lock(&self.disk.values).retain(|name, _| !name.ends_with(CHECKPOINT));
    }

    /// Takes away what this agent keeps of this pod.
    pub fn forget_checkpoint(&self, uid: &str) {
        lock(&self.disk.values).remove(&name_of(&uid.into(), CHECKPOINT));
    }

    /// There is a log of this container under this restart count, whatever the pod.
    pub fn add_log(&self, container: &str, restart_count: u32) {
        lock(&self.logged_restarts).insert(container.to_owned(), restart_count);
    }

    /// There is a file of ids in the folder of this pod, as a kubelet leaves it.
    pub fn add_user_namespace(&self, uid: &str, content: &str) {
        lock(&self.pods).insert(uid.into());
        self.disk.put(&name_of(&uid.into(), USER_NAMESPACE), content.as_bytes());
    }

    /// The file of ids in the folder of this pod.
    pub fn user_namespace_of(&self, uid: &str) -> Option<String> {
        self.disk.values().remove(&name_of(&uid.into(), USER_NAMESPACE))
    }

    /// UIDs of pods that have folders.
    pub fn uids(&self) -> Vec<PodUid> {
        let values = lock(&self.disk.values);
        let on_disk = values.keys().filter_map(|name| name.strip_prefix("pods/")?.split('/').next());
        on_disk
            .map(PodUid::from)
            .chain(lock(&self.pods).iter().cloned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Logs that were removed, the first one first.
    pub fn removed_logs(&self) -> Vec<PathBuf> {
        lock(&self.removed_logs).clone()
    }
}

#[async_trait]
impl PodFiles for MemoryPodFiles {
    fn log_directory(&self, full_name: &PodFullName, uid: &PodUid) -> PathBuf {
        Path::new("/var/log/pods").join(format!("{}_{}_{uid}", full_name.namespace, full_name.name))
    }

    async fn ensure(&self, _: &PodFullName, uid: &PodUid, _: &[String]) -> Result<(), FilesError> {
        lock(&self.pods).insert(uid.clone());
        Ok(())
    }

    async fn logged_restart_counts(
        &self,
        _: &PodFullName,
        _: &PodUid,
        containers: &[String],
    ) -> Result<BTreeMap<String, u32>, FilesError> {
        let logged = lock(&self.logged_restarts);
        Ok(logged
            .iter()
            .filter(|(name, _)| containers.contains(name))
            .map(|(n, c)| (n.clone(), *c))
            .collect())
    }

    async fn user_namespace(&self, uid: &PodUid) -> Result<Option<Vec<u8>>, FilesError> {
        self.disk.load(&name_of(uid, USER_NAMESPACE)).await
    }

    async fn write_user_namespace(&self, uid: &PodUid, content: &[u8]) -> Result<(), FilesError> {
        self.disk.save(&name_of(uid, USER_NAMESPACE), content).await
    }

    async fn checkpoint(&self, uid: &PodUid) -> Result<Option<Vec<u8>>, FilesError> {
        self.disk.load(&name_of(uid, CHECKPOINT)).await
    }

    async fn write_checkpoint(&self, uid: &PodUid, content: &[u8]) -> Result<(), FilesError> {
        self.disk.save(&name_of(uid, CHECKPOINT), content).await?;
        lock(&self.pods).insert(uid.clone());
        Ok(())
    }

    async fn remove_checkpoint(&self, uid: &PodUid) -> Result<(), FilesError> {
        lock(&self.disk.values).remove(&name_of(uid, CHECKPOINT));
        Ok(())
    }

    async fn list(&self) -> Result<Vec<PodUid>, FilesError> {
        Ok(self.uids())
    }

    async fn remove(&self, uid: &PodUid) -> Result<(), FilesError> {
        lock(&self.disk.values).retain(|name, _| !name.starts_with(&name_of(uid, "")));
        lock(&self.pods).remove(uid);
        Ok(())
    }

    async fn remove_log(&self, path: &Path) -> Result<(), FilesError> {
        lock(&self.removed_logs).push(path.to_owned());
        Ok(())
    }
}

/// The machine's own files, which a test changes.
#[derive(Debug)]
pub struct FixedHostFiles {
    resolv_conf: Mutex<Option<String>>,
}

impl Default for FixedHostFiles {
    fn default() -> Self {
        Self { resolv_conf: Mutex::new(Some("nameserver 192.0.2.53\nsearch example.com\n".to_owned())) }
    }
}

impl FixedHostFiles {
    /// The machine's resolv.conf from now on.
    pub fn set_resolv_conf(&self, content: &str) {
        *lock(&self.resolv_conf) = Some(content.to_owned());
    }
}

#[async_trait]
impl HostFiles for FixedHostFiles {
    fn resolv_conf_place(&self) -> String {
        "/etc/resolv.conf".to_owned()
    }

    async fn resolv_conf(&self) -> Result<Option<String>, FilesError> {
        Ok(lock(&self.resolv_conf).clone())
    }

    async fn etc_hosts(&self) -> Result<String, FilesError> {
        Ok("127.0.0.1\tlocalhost\n192.0.2.1\tnode1\n".to_owned())
    }
}
