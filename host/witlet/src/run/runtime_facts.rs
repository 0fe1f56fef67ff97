//! What the runtime says of itself becomes facts of the node: admission handlers look at them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use witlet_core::node::facts;
use witlet_core::runtime::{CgroupDriver, RuntimeStatus, RuntimeVersion};
use witlet_node::NodeInfo;
use witlet_ports::{RuntimeError, RuntimeInfo};

/// Passes everything on, and tells the node what it heard before anybody else hears it: the agent judges no pod before the
/// runtime's first status.
pub(crate) struct RuntimeFacts {
    runtime: Arc<dyn RuntimeInfo>,
    node: Arc<NodeInfo>,
    /// Of runtimes that don't say.
    cgroup_driver: CgroupDriver,
    known: Mutex<Known>,
}

/// What isn't asked with every status, or stays when it isn't answered.
#[derive(Clone, Debug, Default)]
struct Known {
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

    fn known(&self) -> MutexGuard<'_, Known> {
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
mod tests {
    //! Facts by their keys.

    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use witlet_core::runtime::RuntimeHandler;
    use witlet_node::{NodeOptions, SystemClock};

    use super::*;

    #[test]
    fn what_the_runtime_says_has_the_documented_keys() {
        let handler =
            RuntimeHandler { name: String::new(), recursive_read_only_mounts: false, user_namespaces: true };
        let status = RuntimeStatus {
            conditions: Vec::new(),
            handlers: vec![handler],
            supplemental_groups_policy: true,
        };
        let version = RuntimeVersion {
            runtime_name: "containerd".to_owned(),
            runtime_version: "2.1.0".to_owned(),
            api_version: "v1".to_owned(),
        };
        let expected = [
            ("cgroupDriver", "systemd"),
            ("features.supplementalGroupsPolicy", "true"),
            ("features.userNamespaces", "true"),
            ("name", "containerd"),
            ("version", "2.1.0"),
        ];
        let expected = BTreeMap::from(expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(said(&status, Some(&version), CgroupDriver::Systemd), expected);
        assert_eq!(
            said(&RuntimeStatus::default(), None, CgroupDriver::Cgroupfs)["features.userNamespaces"],
            "false"
        );
    }

    /// Says its driver unless it can't, and whether it is there at all.
    #[derive(Default)]
    struct Asked {
        driver: Option<CgroupDriver>,
        is_away: AtomicBool,
        times: AtomicUsize,
    }

    #[async_trait]
    impl RuntimeInfo for Asked {
        async fn version(&self) -> Result<RuntimeVersion, RuntimeError> {
            Err(RuntimeError::Unimplemented { call: "Version", message: String::new() })
        }

        async fn status(&self) -> Result<RuntimeStatus, RuntimeError> {
            match self.is_away.load(Ordering::Relaxed) {
                true => Err(RuntimeError::DeadlineExceeded { call: "Status", limit: Duration::from_secs(1) }),
                false => Ok(RuntimeStatus::default()),
            }
        }

        async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
            self.times.fetch_add(1, Ordering::Relaxed);
            Ok(self.driver)
        }
    }

    #[tokio::test]
    async fn the_driver_is_the_runtimes_or_the_settings_and_asked_again_of_one_that_was_away() {
        for (driver, expected) in [(Some(CgroupDriver::Systemd), "systemd"), (None, "cgroupfs")] {
            let runtime = Arc::new(Asked { driver, ..Asked::default() });
            let node = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine is known");
            let node = Arc::new(node);
            let facts = RuntimeFacts::new(runtime.clone(), node.clone(), CgroupDriver::Cgroupfs);
            for _ in 0..3 {
                facts.status().await.expect("it is there");
            }
            assert_eq!(node.current().facts[facts::RUNTIME_CGROUP_DRIVER], expected);
            assert_eq!(runtime.times.load(Ordering::Relaxed), 1, "once is enough");
            runtime.is_away.store(true, Ordering::Relaxed);
            facts.status().await.expect_err("it is away");
            runtime.is_away.store(false, Ordering::Relaxed);
            facts.status().await.expect("it is there again");
            assert_eq!(runtime.times.load(Ordering::Relaxed), 2, "it may be another");
        }
    }
}
