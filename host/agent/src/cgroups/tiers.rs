//! The cgroups of classes, set by the pods that count now.

use std::sync::Arc;

use witlet_core::cgroup::{
    CgroupVersion, QosReserved, ResourceConfig, Tier, TierMemory, TierPod, tier_configs,
};
use witlet_ports::CgroupError;

use super::{CgroupManager, CgroupState, Kept};

impl CgroupManager {
    /// Sets the tiers by the pods that count now. What fails is logged, and set again a minute later at the latest.
    pub(crate) async fn update_tiers(&self) {
        let CgroupState::Kept(kept) = self.state() else { return };
        let _turn = self.updating.lock().await;
        let pods: Vec<TierPod> = self.active().values().copied().collect();
        let memory = self.tier_memory(&kept);
        self.metrics.update(|stats| stats.kept_memory = memory.kept(&pods));
        let mut configs = tier_configs(&pods, &kept.port.facts().hugepage_sizes, memory);
        let Err(error) = set(&kept, &configs).await else { return };
        // A class that uses more than it is to have keeps what it uses.
        if memory.reserved.is_some() {
            spare_usage(&kept, &mut configs).await;
            if set(&kept, &configs).await.is_ok() {
                return;
            }
        }
        tracing::warn!(%error, "Failed to update QoS cgroup configuration");
    }

    fn tier_memory(&self, kept: &Kept) -> TierMemory {
        let is_v2 = kept.port.facts().version == CgroupVersion::V2;
        let reservation = self.settings.memory_qos.filter(|_| is_v2).map(|qos| qos.reservation);
        let reserved = self
            .settings
            .qos_reserved_percent
            .map(|percent| QosReserved { percent, allocatable: self.enforced_memory() });
        TierMemory { reservation, reserved }
    }
}

async fn set(kept: &Arc<Kept>, configs: &[(Tier, ResourceConfig); 3]) -> Result<(), CgroupError> {
    for (tier, config) in configs {
        kept.port.update(&kept.layout.path(&kept.layout.tier(*tier)), config).await?;
    }
    Ok(())
}

async fn spare_usage(kept: &Arc<Kept>, configs: &mut [(Tier, ResourceConfig); 3]) {
    for (tier, config) in configs {
        let Some(limit) = config.memory_bytes else { continue };
        let now = kept.port.read(&kept.layout.path(&kept.layout.tier(*tier))).await;
        let usage = now.ok().and_then(|now| now.memory_usage_bytes);
        config.memory_bytes = Some(usage.unwrap_or(limit).max(limit));
    }
}
