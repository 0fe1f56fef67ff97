//! Tests of the parent module.

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
    let status =
        RuntimeStatus { conditions: Vec::new(), handlers: vec![handler], supplemental_groups_policy: true };
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
struct CountingRuntime {
    driver: Option<CgroupDriver>,
    is_away: AtomicBool,
    times: AtomicUsize,
}

#[async_trait]
impl RuntimeInfo for CountingRuntime {
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
        let runtime = Arc::new(CountingRuntime { driver, ..CountingRuntime::default() });
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
