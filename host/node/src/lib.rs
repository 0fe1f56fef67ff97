//! The machine under the agent: time, files, volumes, logs, facts about the node, and manifests on its disk.

mod cgroups;
mod clock;
mod container_files;
mod container_logs;
mod credentials;
mod disk_usage;
pub mod file_source;
mod file_systems;
pub mod heap;
mod host_files;
mod http_source;
mod kernel_log;
mod kernel_meter;
mod logs;
mod memory_notifier;
mod mounts;
mod node_info;
mod node_readings;
mod node_system;
mod pod_files;
mod process;
mod pull_records;
mod regular;
mod state_store;
mod subordinate_ids;
mod swap;
mod system_logs;
mod tree;
mod volumes;

pub use cgroups::{CgroupFs, CgroupResources, SystemdCgroups};
pub use clock::{SystemClock, ThreadJitter};
pub use container_files::NodeContainerFiles;
pub use container_logs::NodeContainerLogs;
pub use credentials::{
    ClusterSecrets, DOCKER_CONFIG_BYTES_MAX, NodeCredentials, PullSecretError, PullSecrets,
};
pub use disk_usage::DiskUsage;
pub use file_source::{
    FileSource, FileStamp, FolderWatcher, INHERITED_UIDS, Outcome, Report, ReportReason, check_path,
};
pub use file_systems::NodeFileSystems;
pub use host_files::NodeHostFiles;
pub use http_source::{HttpSource, ManifestUrl, ManifestUrlError, REMEMBERED_MANIFEST};
pub use kernel_meter::SystemMeter;
pub use memory_notifier::KernelMemoryNotifier;
pub use mounts::make_shared;
pub use node_info::{
    GIVEN_FACT_BYTES_MAX, GIVEN_FACTS_MAX, NODE_REFRESH_INTERVAL, NodeError, NodeInfo, NodeOptions,
    PODS_MAX_DEFAULT, has_swap_controller,
};
pub use node_readings::SystemNodeReader;
pub use node_readings::memory::PodsCgroup;
pub use node_system::MachineSystem;
pub use pod_files::NodePodFiles;
pub use process::{ProcessMetrics, machine_booted_at, process_started_at};
pub use pull_records::FilePullRecords;
pub use state_store::{FileStateStore, STATE_BYTES_MAX};
pub use subordinate_ids::{SubordinateIdsError, subordinate_ids};
pub use swap::has_swap;
pub use system_logs::NodeSystemLogs;
pub use volumes::{NodeVolumes, selinux_is_on};

use std::io;
use std::path::Path;

use tokio::sync::Semaphore;
use witlet_ports::FilesError;

/// A failure of the disk in the port's words.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FilesError {
    move |cause| FilesError { action, path: path.to_owned(), cause }
}

/// How many threads work in the agent's own folders at the same time: more of them would only wait for the same disk.
/// Volumes have threads of their own, because what pods mount may hang.
static OWN_FOLDERS: Semaphore = Semaphore::const_new(8);

/// Runs blocking work in the agent's own folders next to the async threads.
async fn blocking<T: Send + 'static>(
    action: &'static str,
    path: &Path,
    work: impl FnOnce() -> Result<T, FilesError> + Send + 'static,
) -> Result<T, FilesError> {
    let turn = OWN_FOLDERS.acquire().await.map_err(io::Error::other);
    let _turn = turn.map_err(failed(action, path))?;
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // Only a runtime that is shutting down doesn't finish the work.
        Err(error) => Err(FilesError { action, path: path.to_owned(), cause: io::Error::other(error) }),
    }
}

/// Whether a foreign word can be one folder's name: no way out, nothing hidden.
fn is_folder_name(name: &str) -> bool {
    const NAME_BYTES_MAX: usize = 255;
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && !name.contains(['/', '\0'])
}

/// Names reach here validated; this is checked a second time.
fn stay_inside(name: &str, folder: &Path) -> Result<(), FilesError> {
    if is_folder_name(name) {
        return Ok(());
    }
    let cause = io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not a valid folder name"));
    Err(FilesError { action: "use a name in", path: folder.to_owned(), cause })
}
