//! What the runtime says of itself becomes facts of the node: admission handlers look at them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

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
    version: Mutex<Option<RuntimeVersion>>,
}

impl RuntimeFacts {
    pub(crate) fn new(runtime: Arc<dyn RuntimeInfo>, node: Arc<NodeInfo>) -> Self {
        Self { runtime, node, version: Mutex::default() }
    }

    /// A runtime that was exchanged has another version; one that doesn't say keeps the last.
    async fn newest_version(&self) -> Option<RuntimeVersion> {
        let newest = self.runtime.version().await.ok();
        let mut known = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.is_some() {
            *known = newest;
        }
        known.clone()
    }
}

#[async_trait]
impl RuntimeInfo for RuntimeFacts {
    async fn version(&self) -> Result<RuntimeVersion, RuntimeError> {
        self.runtime.version().await
    }

    async fn status(&self) -> Result<RuntimeStatus, RuntimeError> {
        let status = self.runtime.status().await?;
        let version = self.newest_version().await;
        self.node.set_facts(facts::RUNTIME, said(&status, version.as_ref()));
        Ok(status)
    }

    async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
        self.runtime.cgroup_driver().await
    }
}

/// Keys below [`facts::RUNTIME`].
fn said(status: &RuntimeStatus, version: Option<&RuntimeVersion>) -> BTreeMap<String, String> {
    let user_namespaces = status.handlers.iter().any(|handler| handler.user_namespaces);
    let below = |key: &str| key.trim_start_matches(facts::RUNTIME).trim_start_matches('.').to_owned();
    let mut said = BTreeMap::from([
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

    use witlet_core::runtime::RuntimeHandler;

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
            ("features.supplementalGroupsPolicy", "true"),
            ("features.userNamespaces", "true"),
            ("name", "containerd"),
            ("version", "2.1.0"),
        ];
        let expected = BTreeMap::from(expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(said(&status, Some(&version)), expected);
        assert_eq!(said(&RuntimeStatus::default(), None)["features.userNamespaces"], "false");
    }
}
