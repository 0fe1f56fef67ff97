//! The cgroup of all pods, the tiers, and limits of the system's own cgroups.

use std::sync::Arc;

use witlet_core::cgroup::{
    CgroupName, CgroupVersion, MEMORY_MIN, ResourceConfig, Tier, existing_resources, first_tier_resources,
    node_resources,
};
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::node::allocatable::{Enforcement, PIDS, amounts};
use witlet_core::pod::resources::{Amounts, MEMORY};
use witlet_ports::CgroupError;

use super::{CgroupManager, CgroupStartError, Kept};

/// Upstream's reasons of the node's events.
const ENFORCED: &str = "NodeAllocatableEnforced";
const NOT_ENFORCED: &str = "FailedNodeAllocatableEnforcement";

impl CgroupManager {
    /// Makes what isn't there, and sets what is. The limit of all pods follows by [`CgroupManager::limit_pods`].
    pub(super) async fn set_up_node(&self, kept: &Arc<Kept>) -> Result<(), CgroupStartError> {
        let Kept { layout, port } = &**kept;
        port.check_controllers().await.map_err(CgroupStartError::Controllers)?;
        port.validate(&layout.path(layout.root())).await.map_err(CgroupStartError::Root)?;
        let kubepods = layout.path(layout.kubepods());
        let name = || layout.kubepods().to_string();
        if port.validate(&kubepods).await.is_err() {
            let made = port.create(&kubepods, &self.pods_config()).await;
            made.map_err(|cause| CgroupStartError::Kubepods { name: name(), cause })?;
        }
        let complete = port.validate(&kubepods).await;
        complete.map_err(|cause| CgroupStartError::Incomplete { name: name(), cause })?;
        for tier in [Tier::Burstable, Tier::BestEffort] {
            let path = layout.path(&layout.tier(tier));
            let config = first_tier_resources(tier, &port.facts().hugepage_sizes);
            let failed = |action| move |cause| CgroupStartError::Tier { action, tier, cause };
            match port.validate(&path).await {
                Ok(()) => port.update(&path, &config).await.map_err(failed("update"))?,
                Err(_) => port.create(&path, &config).await.map_err(failed("create"))?,
            }
        }
        self.limit_system(kept).await
    }

    /// Returns what the node has, with its process ids.
    pub(super) fn capacity(&self) -> Amounts {
        let facts = self.node.borrow().clone();
        let capacity = facts.node.status.as_ref().and_then(|status| status.capacity.as_ref());
        let mut capacity = capacity.map(amounts).unwrap_or_default();
        capacity.extend(self.settings.node_pids.map(|pids| (PIDS.to_owned(), pids)));
        capacity
    }

    /// Bytes of memory that pods may use together; 0 where that decides nothing.
    pub(crate) fn pods_memory(&self) -> i64 {
        match self.settings.memory_qos {
            Some(_) => self.enforced_memory(),
            None => 0,
        }
    }

    /// Bytes of memory that aren't reserved.
    pub(super) fn enforced_memory(&self) -> i64 {
        self.pods_amounts().get(MEMORY).copied().unwrap_or_default()
    }

    /// Returns what isn't reserved.
    pub(super) fn pods_amounts(&self) -> Amounts {
        self.settings.reservations.enforced(&self.capacity())
    }

    /// Returns what all pods together may use: what isn't reserved, if that is to hold, else all.
    fn pods_config(&self) -> ResourceConfig {
        let amounts = match self.settings.enforce.contains(&Enforcement::Pods) {
            true => self.pods_amounts(),
            false => self.capacity(),
        };
        node_resources(&amounts, &self.settings.cpus)
    }

    /// Sets the limit of all pods. It can't be set while they use more; false then, and it is to be tried again.
    pub(super) async fn limit_pods(&self, kept: &Kept) -> bool {
        let kubepods = kept.layout.kubepods();
        match kept.port.update(&kept.layout.path(kubepods), &self.pods_config()).await {
            Ok(()) => {
                let message = "Updated Node Allocatable limit across pods".to_owned();
                self.record_node_event(EventType::Normal, ENFORCED, message);
                true
            }
            Err(error) => {
                let name = kubepods.parts();
                let message = format!("Failed to update Node Allocatable Limits {name:?}: {error}");
                self.record_node_event(EventType::Warning, NOT_ENFORCED, message);
                false
            }
        }
    }

    /// Sets what is reserved on the cgroups of the system and of Kubernetes' daemons, which are there already.
    async fn limit_system(&self, kept: &Kept) -> Result<(), CgroupStartError> {
        let chosen = Enforcement::ALL.into_iter().filter(|enforcement| *enforcement != Enforcement::Pods);
        for enforcement in chosen.filter(|enforcement| self.settings.enforce.contains(enforcement)) {
            let (cgroup, amounts, which) = match enforcement.is_system() {
                true => (&self.settings.system_cgroup, &self.settings.reservations.system, "system"),
                false => (&self.settings.kube_cgroup, &self.settings.reservations.kube, "kube"),
            };
            let mut config = match enforcement.is_compressible() {
                true => existing_resources(amounts, &self.settings.cpus),
                false => node_resources(amounts, &self.settings.cpus),
            };
            let is_kept =
                self.settings.memory_qos.is_some() && kept.port.facts().version == CgroupVersion::V2;
            if let Some(bytes) = config.memory_bytes.filter(|_| is_kept) {
                config.unified.insert(MEMORY_MIN.to_owned(), bytes.to_string());
            }
            match limit_existing(kept, cgroup, amounts, &config).await {
                Ok(()) => {
                    let message = format!("Updated limits on {which} reserved cgroup {cgroup}");
                    self.record_node_event(EventType::Normal, ENFORCED, message);
                }
                Err(problem) => {
                    let title = enforcement.title();
                    let message = format!("Failed to enforce {title} Cgroup Limits on {cgroup:?}: {problem}");
                    self.record_node_event(EventType::Warning, NOT_ENFORCED, message.clone());
                    return Err(CgroupStartError::Enforcement(message));
                }
            }
        }
        Ok(())
    }

    pub(super) fn record_node_event(&self, kind: EventType, reason: &str, message: String) {
        self.events.record(Event::new(EventObject::Node, kind, reason, message));
    }
}

async fn limit_existing(
    kept: &Kept,
    cgroup: &str,
    amounts: &Amounts,
    config: &ResourceConfig,
) -> Result<(), String> {
    let name = CgroupName::parse(cgroup, kept.layout.driver());
    if amounts.is_empty() {
        return Err(format!("{:?} cgroup is not configured properly", name.parts()));
    }
    let path = kept.layout.path(&name);
    let limited: Result<(), CgroupError> = async {
        kept.port.validate(&path).await?;
        kept.port.update(&path, config).await
    }
    .await;
    limited.map_err(|error| error.to_string())
}
