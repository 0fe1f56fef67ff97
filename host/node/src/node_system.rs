//! The machine's own processes and the tunables of its kernel.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::sync::mpsc;
use witlet_ports::{CgroupError, NodeSystem};

use crate::{CgroupFs, kernel_log, swap};

/// Processes that are born meanwhile are looked for this often (upstream: the same).
const ROUNDS_MAX: u32 = 11;
/// The kernel's log.
const KERNEL_LOG: &str = "/dev/kmsg";
/// The init.
const INIT: i32 = 1;

/// This machine.
#[derive(Clone, Debug)]
pub struct MachineSystem {
    proc: PathBuf,
    cgroups: CgroupFs,
}

impl MachineSystem {
    /// The one that the agent runs on.
    pub fn new(cgroups: CgroupFs) -> Self {
        Self::at(Path::new("/proc"), cgroups)
    }

    pub(crate) fn at(proc: &Path, cgroups: CgroupFs) -> Self {
        Self { proc: proc.to_owned(), cgroups }
    }

    /// Whether the agent has the init's process ids: what runs in a container isn't moved out of it.
    fn is_on_the_host(&self) -> bool {
        let namespace = |process: &str| fs::read_link(self.proc.join(process).join("ns/pid"));
        match (namespace("1"), namespace("self")) {
            (Ok(init), Ok(own)) => init == own,
            // Who may not check the init is in a container, or not root.
            _ => false,
        }
    }

    fn tunable_path(&self, name: &str) -> PathBuf {
        self.proc.join("sys").join(name)
    }

    /// A kernel thread has no program.
    fn is_kernel_thread(&self, pid: i32) -> bool {
        let program = fs::read_link(self.proc.join(pid.to_string()).join("exe"));
        program.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

fn failed(action: &'static str, path: String, error: &io::Error) -> CgroupError {
    CgroupError::File {
        action,
        path,
        problem: error.to_string(),
        not_found: error.kind() == io::ErrorKind::NotFound,
    }
}

#[async_trait]
impl NodeSystem for MachineSystem {
    async fn tunable(&self, name: &str) -> Result<i64, CgroupError> {
        let path = self.tunable_path(name);
        let shown = path.display().to_string();
        let text = fs::read_to_string(&path).map_err(|error| failed("read", shown.clone(), &error))?;
        let number = text.trim().parse::<i64>();
        number.map_err(|error| CgroupError::Value { path: shown, problem: error.to_string() })
    }

    async fn set_tunable(&self, name: &str, value: i64) -> Result<(), CgroupError> {
        let path = self.tunable_path(name);
        let shown = || format!("{value} to {}", path.display());
        fs::write(&path, value.to_string()).map_err(|error| failed("write", shown(), &error))
    }

    async fn move_agent(&self, cgroup: &str) -> Result<(), CgroupError> {
        if !self.is_on_the_host() {
            return Ok(());
        }
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        self.cgroups.add_process(cgroup, own).await
    }

    async fn move_system(&self, cgroup: &str) -> Result<(), CgroupError> {
        let mut last = Ok(());
        for _ in 0..ROUNDS_MAX {
            let all: BTreeSet<i32> = self.cgroups.processes("/").await?;
            let movable: Vec<i32> =
                all.into_iter().filter(|pid| *pid > INIT && !self.is_kernel_thread(*pid)).collect();
            if movable.is_empty() {
                return Ok(());
            }
            last = Ok(());
            for pid in movable {
                if let Err(error) = self.cgroups.add_process(cgroup, pid).await {
                    last = Err(error);
                }
            }
        }
        last
    }

    async fn set_oom_score(&self, score: i32) -> Result<(), CgroupError> {
        if !self.is_on_the_host() {
            return Ok(());
        }
        let path = self.proc.join("self/oom_score_adj");
        let shown = || format!("{score} to {}", path.display());
        fs::write(&path, score.to_string()).map_err(|error| failed("write", shown(), &error))
    }

    async fn swaps_memory_volumes(&self) -> bool {
        swap::has_swap_in(&self.proc) && !swap::tmpfs_avoids_swap()
    }

    async fn kernel_messages(&self, messages: mpsc::Sender<String>) -> Result<(), CgroupError> {
        let failed = |error| failed("read", KERNEL_LOG.to_owned(), &error);
        let log = kernel_log::open(Path::new(KERNEL_LOG)).map_err(failed)?;
        kernel_log::follow(log, &messages).await.map_err(failed)
    }
}

#[cfg(test)]
mod tests;
