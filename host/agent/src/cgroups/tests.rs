//! A manager for tests of other parts. What it does is in the scenarios.

use async_trait::async_trait;
use witlet_core::runtime::{RuntimeStatus, RuntimeVersion};
use witlet_ports::{Clock, RuntimeError};

use super::*;
use crate::event_log::EventLog;

/// A runtime that knows nothing of cgroups.
struct Silent;

fn unimplemented<T>(call: &'static str) -> Result<T, RuntimeError> {
    Err(RuntimeError::Unimplemented { call, message: String::new() })
}

#[async_trait]
impl RuntimeInfo for Silent {
    async fn version(&self) -> Result<RuntimeVersion, RuntimeError> {
        unimplemented("Version")
    }

    async fn status(&self) -> Result<RuntimeStatus, RuntimeError> {
        unimplemented("Status")
    }

    async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
        Ok(None)
    }
}

struct NoTime;

impl Clock for NoTime {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

/// Keeps none.
pub(crate) fn no_cgroups() -> Arc<CgroupManager> {
    let (_, node) = watch::channel(Arc::default());
    let events = Arc::new(EventLog::new(Arc::new(NoTime)));
    let (settings, drivers, metrics) = (CgroupSettings::default(), CgroupDrivers::default(), Arc::default());
    Arc::new(CgroupManager::new(settings, drivers, Arc::new(Silent), node, events, metrics))
}

#[tokio::test]
async fn a_node_without_cgroups_has_none_of_them() {
    let manager = no_cgroups();
    assert!(matches!(manager.ready().await, CgroupState::Unsupported));
    assert!(manager.pods().await.is_empty());
    manager.update_tiers().await;
}
