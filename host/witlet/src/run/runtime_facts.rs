//! What the runtime says of itself becomes facts of the node: admission handlers check them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use witlet_core::node::facts;
use witlet_core::runtime::{CgroupDriver, RuntimeStatus, RuntimeVersion};
use witlet_node::NodeInfo;
use witlet_ports::{RuntimeError, RuntimeInfo};

/// Passes everything on, and passes to the node what it received before anyone else gets it: the agent judges no pod before the
/// runtime's first status.
pub(crate) struct RuntimeFacts {
    runtime: Arc<dyn RuntimeInfo>,
    node: Arc<NodeInfo>,
    /// Of runtimes that don't say.
    cgroup_driver: CgroupDriver,
    known: Mutex<CachedFacts>,
}

/// What isn't asked with every status, or stays when it isn't answered.
#[derive(Clone, Debug, Default)]
struct CachedFacts {
    version: Option<RuntimeVersion>,
    cgroup_driver: Option<CgroupDriver>,
}

impl RuntimeFacts {
    /// `cgroup_driver` counts where the runtime doesn't tell its own.
    pub(crate) fn new(
        runtime: Arc<dyn RuntimeInfo>,
        node: Arc<NodeInfo>,
        cgroup_driver: CgroupDriver,
    ) -> Self {
        Self { runtime, node, cgroup_driver, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, CachedFacts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A runtime that was exchanged has another version; one that doesn't say keeps the last.
    async fn newest_version(&self) -> Option<RuntimeVersion> {
        let newest = self.runtime.version().await.ok();
        let mut known = self.known();
        if newest.is_some() {
            known.version = newest;
        }
        known.version.clone()
    }

    /// Asked once, and again of a runtime that was away. Sandboxes are made by it, so that a runtime which doesn't answer is
    /// as one without a status.
    async fn driver(&self) -> Result<CgroupDriver, RuntimeError> {
        let known = self.known().cgroup_driver;
        if let Some(driver) = known {
            return Ok(driver);
        }
        let driver = self.runtime.cgroup_driver().await?.unwrap_or(self.cgroup_driver);
        self.known().cgroup_driver = Some(driver);
        Ok(driver)
    }
}

#[async_trait]
impl RuntimeInfo for RuntimeFacts {
    async fn version(&self) -> Result<RuntimeVersion, RuntimeError> {
        self.runtime.version().await
    }

    async fn status(&self) -> Result<RuntimeStatus, RuntimeError> {
        let status = match self.runtime.status().await {
            Ok(status) => status,
            Err(error) => {
                self.known().cgroup_driver = None;
                return Err(error);
            }
        };
        let driver = self.driver().await?;
        let version = self.newest_version().await;
        self.node.set_facts(facts::RUNTIME, said(&status, version.as_ref(), driver));
        Ok(status)
    }

    async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
        self.runtime.cgroup_driver().await
    }
}

/// Keys below [`facts::RUNTIME`].
fn said(
    status: &RuntimeStatus,
    version: Option<&RuntimeVersion>,
    driver: CgroupDriver,
) -> BTreeMap<String, String> {
    let user_namespaces = status.handlers.iter().any(|handler| handler.user_namespaces);
    let below = |key: &str| key.trim_start_matches(facts::RUNTIME).trim_start_matches('.').to_owned();
    let mut said = BTreeMap::from([
        (below(facts::RUNTIME_CGROUP_DRIVER), driver.name().to_owned()),
        (below(facts::RUNTIME_SUPPLEMENTAL_GROUPS_POLICY), status.supplemental_groups_policy.to_string()),
        (below(facts::RUNTIME_USER_NAMESPACES), user_namespaces.to_string()),
    ]);
    if let Some(version) = version {
        said.insert(below(facts::RUNTIME_NAME), version.runtime_name.clone());
        said.insert(below(facts::RUNTIME_VERSION), version.runtime_version.clone());
    }
    said
}

#[cfg(test)]
mod tests;
