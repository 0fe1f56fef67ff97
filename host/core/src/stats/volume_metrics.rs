//! `kubelet_volume_stats_…`: what is used of claims (upstream: `metrics/collectors/volume_stats.go`).

use std::collections::BTreeMap;

use super::exposition::{Family, Kind, Sample};
use super::summary::{FsStats, PvcReference, VolumeStats};

#[cfg(test)]
mod tests;

type Figure = fn(&FsStats) -> Option<u64>;

/// Name, help and figure of each family, in the order of names.
const FAMILIES: [(&str, &str, Figure); 6] = [
    ("kubelet_volume_stats_available_bytes", "[ALPHA] Number of available bytes in the volume", |fs| {
        fs.available_bytes
    }),
    ("kubelet_volume_stats_capacity_bytes", "[ALPHA] Capacity in bytes of the volume", |fs| {
        fs.capacity_bytes
    }),
    ("kubelet_volume_stats_inodes", "[ALPHA] Maximum number of inodes in the volume", |fs| fs.inodes),
    ("kubelet_volume_stats_inodes_free", "[ALPHA] Number of free inodes in the volume", |fs| fs.inodes_free),
    ("kubelet_volume_stats_inodes_used", "[ALPHA] Number of used inodes in the volume", |fs| fs.inodes_used),
    ("kubelet_volume_stats_used_bytes", "[ALPHA] Number of used bytes in the volume", |fs| fs.used_bytes),
];

/// The families of the volumes that are of claims. Pods may share a claim: the first volume of it counts. What isn't known is 0.
pub fn volume_metrics<'a>(volumes: impl IntoIterator<Item = &'a VolumeStats>) -> Vec<Family> {
    let mut claims: BTreeMap<&PvcReference, &FsStats> = BTreeMap::new();
    for volume in volumes {
        if let Some(claim) = &volume.pvc_ref {
            claims.entry(claim).or_insert(&volume.fs);
        }
    }
    let family = |(name, help, figure): (&'static str, &'static str, Figure)| {
        let sample = |(claim, fs): (&&PvcReference, &&FsStats)| Sample {
            labels: vec![
                ("namespace", claim.namespace.clone()),
                ("persistentvolumeclaim", claim.name.clone()),
            ],
            value: figure(fs).unwrap_or(0) as f64,
            at: None,
        };
        Family { name, help, kind: Kind::Gauge, samples: claims.iter().map(sample).collect() }
    };
    FAMILIES.into_iter().map(family).collect()
}
