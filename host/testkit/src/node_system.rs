//! The machine around pods, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;
use witlet_core::node::tunables::TUNABLES;
use witlet_ports::{CgroupError, NodeSystem};

use crate::FakeRuntime;

/// A machine whose tunables are as they should be. What is done to it is in the runtime's log.
pub struct FakeNodeSystem {
    runtime: Arc<FakeRuntime>,
    inner: Mutex<Inner>,
}

struct Inner {
    tunables: BTreeMap<String, i64>,
    read_only: bool,
    failures: u32,
    swaps_volumes: bool,
    log: Option<mpsc::Sender<String>>,
}

impl FakeNodeSystem {
    /// With all that there is.
    pub fn new(runtime: Arc<FakeRuntime>) -> Arc<Self> {
        let tunables = TUNABLES.map(|(name, value)| (name.to_owned(), value)).into();
        let inner = Inner { tunables, read_only: false, failures: 0, swaps_volumes: false, log: None };
        Arc::new(Self { runtime, inner: Mutex::new(inner) })
    }

    /// A tunable has this value; none takes it away.
    pub fn set_tunable_to(&self, name: &str, value: Option<i64>) {
        let mut inner = self.lock();
        match value {
            Some(value) => drop(inner.tunables.insert(name.to_owned(), value)),
            None => drop(inner.tunables.remove(name)),
        }
    }

    /// A tunable's value.
    pub fn tunable_now(&self, name: &str) -> Option<i64> {
        self.lock().tunables.get(name).copied()
    }

    /// Tunables can't be written.
    pub fn set_read_only(&self) {
        self.lock().read_only = true;
    }

    /// The next moves fail.
    pub fn fail_moves(&self, times: u32) {
        self.lock().failures = times;
    }

    /// The machine swaps, and can't keep volumes in memory out of it.
    pub fn set_swaps_memory_volumes(&self) {
        self.lock().swaps_volumes = true;
    }

    /// The kernel logs this; an agent that reads the log gets it.
    pub fn log(&self, message: &str) {
        let log = self.lock().log.clone();
        // Without an agent no one reads it.
        let _unread = log.map(|log| log.try_send(message.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: &str, object: &str) -> Result<(), CgroupError> {
        {
            let mut inner = self.lock();
            if inner.failures > 0 {
                inner.failures -= 1;
                return Err(CgroupError::Lost("failed as the test planned".to_owned()));
            }
        }
        self.runtime.note(what, object);
        Ok(())
    }
}

fn failed(action: &'static str, path: String, problem: &str) -> CgroupError {
    CgroupError::File { action, path, problem: problem.to_owned(), not_found: false }
}

#[async_trait]
impl NodeSystem for FakeNodeSystem {
    async fn tunable(&self, name: &str) -> Result<i64, CgroupError> {
        let value = self.lock().tunables.get(name).copied();
        value.ok_or_else(|| failed("read", format!("/proc/sys/{name}"), "No such file or directory"))
    }

    async fn set_tunable(&self, name: &str, value: i64) -> Result<(), CgroupError> {
        let mut inner = self.lock();
        if inner.read_only {
            return Err(failed("write", format!("{value} to /proc/sys/{name}"), "Read-only file system"));
        }
        inner.tunables.insert(name.to_owned(), value);
        Ok(())
    }

    async fn move_agent(&self, cgroup: &str) -> Result<(), CgroupError> {
        self.note("move", &format!("agent to {cgroup}"))
    }

    async fn move_system(&self, cgroup: &str) -> Result<(), CgroupError> {
        self.note("move", &format!("system to {cgroup}"))
    }

    async fn set_oom_score(&self, score: i32) -> Result<(), CgroupError> {
        self.note("score", &format!("agent {score}"))
    }

    async fn swaps_memory_volumes(&self) -> bool {
        self.lock().swaps_volumes
    }

    async fn kernel_messages(&self, messages: mpsc::Sender<String>) -> Result<(), CgroupError> {
        self.lock().log = Some(messages.clone());
        messages.closed().await;
        Ok(())
    }
}
