//! Cgroups in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use witlet_core::cgroup::{CgroupFacts, CgroupVersion, PodCgroup, ResourceConfig};
use witlet_ports::{CgroupError, Cgroups};

use crate::FakeRuntime;

/// The machine's cgroups. They survive restarts of the agent; what is done to them is in the runtime's log, in order with what
/// that does.
pub struct FakeCgroups {
    runtime: Arc<FakeRuntime>,
    facts: CgroupFacts,
    inner: Mutex<Inner>,
}

/// How far a call comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupCut {
    /// Nothing of it is done, and it never ends.
    Before,
    /// A cgroup is made, but not set, and it never ends.
    Half,
    /// All of it is done, and it never ends.
    After,
    /// Nothing of it is done, and it fails.
    Fails,
}

#[derive(Default)]
struct Inner {
    /// How many calls changed something, or were to.
    calls: usize,
    /// The call that is cut, how, and whether it was.
    cut: Option<(usize, CgroupCut, bool)>,
    cgroups: BTreeMap<String, ResourceConfig>,
    failures: BTreeMap<&'static str, u32>,
    memory_usage: BTreeMap<String, i64>,
    start_error: Option<CgroupError>,
}

impl FakeCgroups {
    /// Only the root, of version 1.
    pub fn new(runtime: Arc<FakeRuntime>) -> Arc<Self> {
        Self::of_version(runtime, CgroupVersion::V1)
    }

    /// Only the root.
    pub fn of_version(runtime: Arc<FakeRuntime>, version: CgroupVersion) -> Arc<Self> {
        let controllers = ["cpu", "cpuacct", "cpuset", "memory", "pids", "systemd"];
        let facts = CgroupFacts {
            version,
            controllers: controllers.map(str::to_owned).into(),
            hugepage_sizes: vec![2 << 20],
        };
        let inner =
            Inner { cgroups: [("/".to_owned(), ResourceConfig::default())].into(), ..Inner::default() };
        Arc::new(Self { runtime, facts, inner: Mutex::new(inner) })
    }

    /// The next calls of this kind (`create`, `update`, `remove`) fail so often.
    pub fn fail_next(&self, call: &'static str, times: u32) {
        self.lock().failures.insert(call, times);
    }

    /// The call of this number since the beginning, the first being 0, is cut. Those after it never end, unless it failed.
    pub fn cut_call(&self, number: usize, cut: CgroupCut) {
        self.lock().cut = Some((number, cut, false));
    }

    /// Whether a call has been cut since it was to be; then calls end again.
    pub fn take_cut(&self) -> bool {
        let mut inner = self.lock();
        let is_cut = inner.cut.is_some_and(|(.., is_cut)| is_cut);
        if is_cut {
            inner.cut = None;
        }
        is_cut
    }

    /// How many calls changed something.
    pub fn calls(&self) -> usize {
        self.lock().calls
    }

    fn count(&self) -> Option<CgroupCut> {
        let mut inner = self.lock();
        let number = inner.calls;
        inner.calls += 1;
        let (at, cut, is_cut) = inner.cut.as_mut()?;
        if *is_cut {
            return (*cut != CgroupCut::Fails).then_some(CgroupCut::Before);
        }
        *is_cut = number == *at;
        is_cut.then_some(*cut)
    }

    /// Counts a call that is done as a whole or not at all. True if it is to hang once that is done.
    async fn begin(&self) -> Result<bool, CgroupError> {
        match self.count() {
            None => Ok(false),
            Some(CgroupCut::Before | CgroupCut::Half) => std::future::pending().await,
            Some(CgroupCut::After) => Ok(true),
            Some(CgroupCut::Fails) => Err(CgroupError::Lost("cut as the test planned".to_owned())),
        }
    }

    /// The cgroup uses so many bytes of memory.
    pub fn use_memory(&self, path: &str, bytes: i64) {
        self.lock().memory_usage.insert(path.to_owned(), bytes);
    }

    /// The machine hasn't what cgroups need.
    pub fn fail_start(&self, error: CgroupError) {
        self.lock().start_error = Some(error);
    }

    /// Makes a cgroup as another program would.
    pub fn put(&self, path: &str, config: ResourceConfig) {
        self.lock().cgroups.insert(path.to_owned(), config);
    }

    /// Removes one, with those below, as another program would.
    pub fn lose(&self, path: &str) {
        self.lock().cgroups.retain(|known, _| !is_at_or_below(known, path));
    }

    /// What a cgroup is set to; none if there is no such one.
    pub fn config(&self, path: &str) -> Option<ResourceConfig> {
        self.lock().cgroups.get(path).cloned()
    }

    /// All paths.
    pub fn paths(&self) -> Vec<String> {
        self.lock().cgroups.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, call: &'static str) -> Result<MutexGuard<'_, Inner>, CgroupError> {
        let mut inner = self.lock();
        if let Some(left) = inner.failures.get_mut(call).filter(|left| **left > 0) {
            *left -= 1;
            return Err(CgroupError::Lost(format!("{call}: failed as the test planned")));
        }
        Ok(inner)
    }
}

fn is_at_or_below(path: &str, of: &str) -> bool {
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn missing(path: &str) -> CgroupError {
    CgroupError::MissingPaths { name: path.to_owned(), paths: path.to_owned() }
}

/// What is none stays.
fn merge(config: &mut ResourceConfig, new: &ResourceConfig) {
    let keep = |old: &mut Option<i64>, new: Option<i64>| *old = new.or(*old);
    keep(&mut config.memory_bytes, new.memory_bytes);
    keep(&mut config.cpu_shares, new.cpu_shares);
    keep(&mut config.cpu_quota_us, new.cpu_quota_us);
    keep(&mut config.cpu_period_us, new.cpu_period_us);
    keep(&mut config.pids_max, new.pids_max);
    config.cpus = new.cpus.clone().or_else(|| config.cpus.take());
    config.hugepages.clone_from(&new.hugepages);
    config.unified.extend(new.unified.clone());
}

/// The values that a line of the log has.
fn shown(config: &ResourceConfig) -> String {
    let figures = [
        ("shares", config.cpu_shares),
        ("quota", config.cpu_quota_us),
        ("memory", config.memory_bytes),
        ("pids", config.pids_max),
    ];
    let figures = figures.into_iter().filter_map(|(name, value)| Some(format!(" {name} {}", value?)));
    figures.chain(config.unified.iter().map(|(file, value)| format!(" {file} {value}"))).collect()
}

#[async_trait]
impl Cgroups for FakeCgroups {
    fn facts(&self) -> &CgroupFacts {
        &self.facts
    }

    async fn check_controllers(&self) -> Result<(), CgroupError> {
        self.lock().start_error.clone().map_or(Ok(()), Err)
    }

    async fn validate(&self, path: &str) -> Result<(), CgroupError> {
        if self.lock().cgroups.contains_key(path) { Ok(()) } else { Err(missing(path)) }
    }

    async fn create(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        let cut = self.count();
        match cut {
            Some(CgroupCut::Before) => std::future::pending().await,
            Some(CgroupCut::Fails) => return Err(CgroupError::Lost("cut as the test planned".to_owned())),
            Some(CgroupCut::Half | CgroupCut::After) | None => {}
        }
        {
            let mut inner = self.answer("create")?;
            let mut above = String::new();
            for part in path.split('/').filter(|part| !part.is_empty()) {
                above.push('/');
                above.push_str(part);
                inner.cgroups.entry(above.clone()).or_default();
            }
            if cut != Some(CgroupCut::Half) {
                merge(inner.cgroups.entry(path.to_owned()).or_default(), config);
            }
        }
        if cut.is_some() {
            return std::future::pending().await;
        }
        self.runtime.note("create", &format!("cgroup {path}{}", shown(config)));
        Ok(())
    }

    async fn update(&self, path: &str, config: &ResourceConfig) -> Result<(), CgroupError> {
        let hangs = self.begin().await?;
        {
            let mut inner = self.answer("update")?;
            merge(inner.cgroups.get_mut(path).ok_or_else(|| missing(path))?, config);
        }
        if hangs {
            return std::future::pending().await;
        }
        self.runtime.note("update", &format!("cgroup {path}{}", shown(config)));
        Ok(())
    }

    async fn read(&self, path: &str) -> Result<PodCgroup, CgroupError> {
        let inner = self.lock();
        let config = inner.cgroups.get(path).ok_or_else(|| missing(path))?;
        Ok(PodCgroup {
            cpu_shares: config.cpu_shares.unwrap_or(1024),
            cpu_weight: None,
            cpu_quota_us: config.cpu_quota_us.unwrap_or_default().max(0),
            cpu_period_us: config.cpu_period_us.unwrap_or(100_000),
            memory_limit_bytes: config.memory_bytes.unwrap_or_default().max(0),
            memory_usage_bytes: Some(inner.memory_usage.get(path).copied().unwrap_or_default()),
        })
    }

    async fn remove(&self, path: &str) -> Result<(), CgroupError> {
        let hangs = self.begin().await?;
        let had = {
            let mut inner = self.answer("remove")?;
            let before = inner.cgroups.len();
            inner.cgroups.retain(|known, _| !is_at_or_below(known, path));
            inner.cgroups.len() < before
        };
        if hangs {
            return std::future::pending().await;
        }
        if had {
            self.runtime.note("remove", &format!("cgroup {path}"));
        }
        Ok(())
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, CgroupError> {
        let inner = self.lock();
        let below = format!("{}/", path.trim_end_matches('/'));
        let all = inner.cgroups.keys().filter(|known| {
            known.strip_prefix(&below).is_some_and(|name| !name.is_empty() && !name.contains('/'))
        });
        Ok(all.cloned().collect())
    }
}
