//! `/metrics/cadvisor`: what each cgroup of pods and of the node uses, under the names that dashboards and recording rules know
//! (upstream: cAdvisor's `metrics/prometheus.go`).

mod details;
mod disks;
mod families;
mod machine;
mod rows;
#[cfg(test)]
mod tests;

pub use details::{CgroupDetails, CgroupLimits, CgroupSpec, CpuDetails, MemoryDetails, Processes};
pub use disks::{BlockDevice, DiskUsage, FilesystemUsage, Partition, partitions};
pub use families::{Scrape, chunks};
pub use machine::{Machine, Topology};
pub use rows::{Row, RowLabels};
