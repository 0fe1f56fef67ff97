//! Ports of a server that no case of the streams reaches.

use std::path::Path;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::stats::LocalStorage;
use witlet_core::stats::summary::{FsMeasurement, Scope};
use witlet_ports::{
    FilesError, JournalOutput, KernelCounts, KernelDetails, KernelMeter, Links, LogVerbosity, RunningPod,
    StorageMeter, SystemLog, SystemLogs, VerbosityError,
};

pub(super) struct Unused;

#[async_trait]
impl KernelMeter for Unused {
    async fn counts(&self, _: Vec<RunningPod>, _: Scope) -> KernelCounts {
        unreachable!("nothing is measured")
    }

    async fn details(&self, _: Vec<RunningPod>) -> Option<KernelDetails> {
        unreachable!("nothing is measured")
    }

    async fn filesystem(&self, _: &Path) -> Option<FsMeasurement> {
        unreachable!("nothing is measured")
    }
}

#[async_trait]
impl StorageMeter for Unused {
    async fn measure(&self, _: &Pod) -> LocalStorage {
        unreachable!("nothing is measured")
    }
}

impl LogVerbosity for Unused {
    fn set(&self, _: u32) -> Result<(), VerbosityError> {
        unreachable!("the log stays as it is")
    }
}

#[async_trait]
impl SystemLogs for Unused {
    async fn open(&self, _: &Path, _: Links) -> Result<SystemLog, FilesError> {
        unreachable!("no log of the machine is shown")
    }

    fn journal(&self, _: &[String]) -> Result<JournalOutput, FilesError> {
        unreachable!("no log of the machine is shown")
    }
}
