//! Volumes set up, and the mounts of one container made of them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use thiserror::Error;
use tokio::time::Instant;
use witlet_core::container::plan::sandbox::network_of;
use witlet_core::container::spec::env_files;
use witlet_core::network::hostname::HostnameError;
use witlet_core::network::hosts;
use witlet_core::pod::PodUid;
use witlet_core::pod::fields::PodFields;
use witlet_core::runtime::{Mount, NamespaceMode};
use witlet_core::volume::{
    DesiredVolume, Fingerprint, InsteadOf, MountInput, MountSource, ReferencedObjects, VolumeSetUp,
    VolumeSpecError, instead, mounted_plugins, mounts, set_ups,
};
use witlet_ports::{FilesError, VolumeError};

use super::host::HostNow;
use super::{Executor, Job, objects};
use witlet_core::error::one_line;

/// The volumes of a pod may take this long to set up; then the sync fails and is tried again (upstream: 2 min 3 s,
/// `podAttachAndMountTimeout`). The other pods don't wait for them.
pub(crate) const SET_UP_MAX: Duration = Duration::from_secs(123);

/// Of a file of environment variables no more is read, in bytes.
const ENV_FILE_BYTES_MAX: usize = 1024 * 1024;

/// Content of files of environment variables, by volume and path in it.
pub(super) type EnvFiles = BTreeMap<(String, String), String>;

/// Paths on the host by the names of volumes.
pub(super) type VolumePaths = BTreeMap<String, PathBuf>;

/// A volume as it was made, and its path on the host.
type Made = (Option<Fingerprint>, PathBuf);

/// A volume that can't be made as the spec has it.
#[derive(Clone, Copy)]
struct FailedVolume<'a> {
    fields: PodFields<'a>,
    referenced: &'a ReferencedObjects,
    volume: &'a DesiredVolume,
    error: &'a VolumeSpecError,
    is_restored: bool,
}

/// Why a container has no mounts.
#[derive(Debug, Error)]
pub(super) enum MountError {
    #[error(transparent)]
    Spec(VolumeSpecError),
    #[error("volume {volume} of container {container} isn't set up")]
    NoVolume { volume: String, container: String },
    /// Without the cause, as upstream has it: that may tell of the machine's files what the pod isn't to know.
    #[error("failed to prepare subPath for volumeMount {volume:?} of container {container:?}")]
    SubPath { volume: String, container: String },
    #[error("environment file {} of volume {volume}", path.display())]
    EnvFile {
        volume: String,
        path: PathBuf,
        #[source]
        cause: VolumeError,
    },
    #[error("hosts file")]
    Hosts(#[source] HostsError),
    #[error("termination log")]
    TerminationLog(#[source] FilesError),
}

/// Why a pod has no hosts file.
#[derive(Debug, Error)]
pub(super) enum HostsError {
    #[error(transparent)]
    Name(HostnameError),
    #[error(transparent)]
    Files(FilesError),
}

/// The container whose mounts are made.
#[derive(Clone, Copy)]
pub(super) struct MountsOf<'a> {
    pub(super) pod: &'a Pod,
    pub(super) container: &'a Container,
    pub(super) restart_count: u32,
    pub(super) env: &'a [(String, String)],
    /// Of the sandbox; none on the host network.
    pub(super) pod_ips: &'a [IpAddr],
    pub(super) volumes: &'a VolumePaths,
    pub(super) host: &'a HostNow<'a>,
}

impl Executor {
    /// Sets up the volumes that the pod's containers mount and that aren't as they should be. What fails is reported as events;
    /// each volume is tried. One that was there before goes on being used as it was.
    pub(super) async fn set_up_volumes(&self, job: &mut Job, pod: &Pod) -> Result<VolumePaths, ()> {
        let events = self.events(job);
        let (uid, is_restored, known) = (&job.uid, job.is_restored, &mut job.memory.volumes);
        let plugins = pod.spec.as_ref().map(mounted_plugins).unwrap_or_default();
        let names: Vec<&String> = plugins.iter().map(|(name, _)| name).collect();
        known.retain(|name, _| names.contains(&name));
        self.metrics.volumes.desired(uid, &plugins);
        let setting_up = async {
            let referenced = objects::of_mounted_volumes(&*self.objects, pod).await;
            let node = self.node.borrow().clone();
            let fields = PodFields { pod, pod_ips: &[], node: &node };
            for volume in set_ups(fields, &referenced) {
                let (have, begun) = (known.get(&volume.name), Instant::now());
                let made = match &volume.set_up {
                    Ok(set_up) => self.make_volume(uid, set_up, have).await,
                    Err(error) => {
                        let of = FailedVolume {
                            fields,
                            referenced: &referenced,
                            volume: &volume,
                            error,
                            is_restored,
                        };
                        self.instead_of_volume(uid, of, have).await
                    }
                };
                // What is as it was isn't mounted again.
                if !made.as_ref().is_ok_and(|now| have == Some(now)) {
                    let took = begun.elapsed();
                    self.metrics.volumes.mounted(uid, &volume.name, took, made.is_ok());
                }
                match made {
                    Ok(now) => drop(known.insert(volume.name, now)),
                    Err(message) => events.warning("FailedMount", &message),
                }
            }
        };
        let in_time = tokio::time::timeout(SET_UP_MAX, setting_up).await.is_ok();
        let left: Vec<&str> =
            names.iter().map(|name| name.as_str()).filter(|name| !known.contains_key(*name)).collect();
        if left.is_empty() {
            return Ok(known.iter().map(|(name, (_, path))| (name.clone(), path.clone())).collect());
        }
        if !in_time {
            let message = format!(
                "Unable to attach or mount volumes: unmounted volumes=[{}]: timed out waiting for the condition",
                left.join(" ")
            );
            events.warning("FailedMount", &message);
        }
        Err(())
    }

    /// Makes the volume what it is to be, unless it is that. An error is the words of an event.
    async fn make_volume(
        &self,
        uid: &PodUid,
        set_up: &VolumeSetUp,
        have: Option<&Made>,
    ) -> Result<Made, String> {
        let fingerprint = set_up.fingerprint();
        if let Some((Some(made), path)) = have
            && *made == fingerprint
        {
            return Ok((Some(fingerprint), path.clone()));
        }
        match self.volumes.set_up(uid, set_up).await {
            Ok(path) => Ok((Some(fingerprint), path)),
            Err(error) => Err(set_up_failed(&set_up.name, &error)),
        }
    }

    /// Returns what is used instead of a volume that can't be made as the spec has it.
    async fn instead_of_volume(
        &self,
        uid: &PodUid,
        of: FailedVolume<'_>,
        have: Option<&Made>,
    ) -> Result<Made, String> {
        let written = match (have, of.volume.plugin) {
            (Some(have), _) => Some(have.clone()),
            (None, Some(plugin)) => {
                let found = self.volumes.written(uid, plugin, &of.volume.name).await;
                found.map_err(|error| set_up_failed(&of.volume.name, &error))?.map(|path| (None, path))
            }
            (None, None) => None,
        };
        match (instead(of.error, written.is_some(), of.is_restored), written) {
            (InsteadOf::UseAsItIs, Some(made)) => Ok(made),
            (InsteadOf::WithoutCredentials, _) => {
                let left = set_ups(of.fields, &of.referenced.without_credentials());
                match left.into_iter().find(|left| left.name == of.volume.name).map(|left| left.set_up) {
                    Some(Ok(set_up)) => self.make_volume(uid, &set_up, have).await,
                    Some(Err(error)) => Err(not_mounted(&of.volume.name, &error)),
                    None => Err(not_mounted(&of.volume.name, of.error)),
                }
            }
            (InsteadOf::UseAsItIs | InsteadOf::Wait, _) => Err(not_mounted(&of.volume.name, of.error)),
        }
    }

    /// The container's mounts, with all that they need on the host made.
    pub(super) async fn make_mounts(&self, job: &Job, of: MountsOf<'_>) -> Result<Vec<Mount>, MountError> {
        let has_address = match network_of(of.pod) {
            NamespaceMode::Node => !self.node.borrow().addresses.is_empty(),
            NamespaceMode::Pod | NamespaceMode::Container => !of.pod_ips.is_empty(),
        };
        let planned = mounts(MountInput {
            pod: of.pod,
            container: of.container,
            env: of.env,
            has_address,
            recursive_read_only: self.handler_of(of.pod).recursive_read_only_mounts,
            selinux: self.host.selinux,
        })
        .map_err(MountError::Spec)?;
        let mut made = Vec::with_capacity(planned.len());
        for mount in planned {
            let host_path = self.make_source(job, of, &mount.source).await?;
            made.push(mount.at(host_path));
        }
        Ok(made)
    }

    /// The files that the container's environment is taken from, by volume and path. One that isn't there is left out.
    pub(super) async fn read_env_files(
        &self,
        container: &Container,
        volumes: &VolumePaths,
    ) -> Result<EnvFiles, MountError> {
        let mut read = EnvFiles::new();
        for (volume, path) in env_files(container) {
            let missing =
                || MountError::NoVolume { volume: volume.clone(), container: container.name.clone() };
            let below = volumes.get(&volume).ok_or_else(missing)?;
            let content = self.volumes.read_file(below, Path::new(&path), ENV_FILE_BYTES_MAX).await;
            let content = content.map_err(|cause| MountError::EnvFile {
                volume: volume.clone(),
                path: PathBuf::from(&path),
                cause,
            })?;
            if let Some(content) = content {
                read.insert((volume, path), String::from_utf8_lossy(&content).into_owned());
            }
        }
        Ok(read)
    }

    async fn make_source(
        &self,
        job: &Job,
        of: MountsOf<'_>,
        source: &MountSource,
    ) -> Result<PathBuf, MountError> {
        let container = || of.container.name.clone();
        let volume = |name: &String| {
            let missing = || MountError::NoVolume { volume: name.clone(), container: container() };
            of.volumes.get(name).ok_or_else(missing)
        };
        match source {
            MountSource::Volume(name) => volume(name).cloned(),
            MountSource::SubPath(sub_path) => {
                let below = volume(&sub_path.volume)?;
                self.volumes.sub_path(&job.uid, below, sub_path).await.map_err(|cause| {
                    let (volume, container) = (sub_path.volume.clone(), container());
                    let error = one_line(&cause);
                    tracing::error!(pod = %job.full_name, container_name = container, volume, error, "Failed to prepare subPath for volumeMount of the container");
                    MountError::SubPath { volume, container }
                })
            }
            MountSource::HostsFile => self.write_hosts(job, of).await.map_err(MountError::Hosts),
            MountSource::TerminationLog => {
                let name = &of.container.name;
                let made = self.container_files.make_termination_log(&job.uid, name, of.restart_count).await;
                made.map_err(MountError::TerminationLog)
            }
        }
    }

    async fn write_hosts(&self, job: &Job, of: MountsOf<'_>) -> Result<PathBuf, HostsError> {
        let content = hosts::content(of.pod, of.pod_ips, of.host.facts()).map_err(HostsError::Name)?;
        self.container_files.write_hosts(&job.uid, &content).await.map_err(HostsError::Files)
    }
}

fn set_up_failed(volume: &str, error: &dyn std::error::Error) -> String {
    format!("MountVolume.SetUp failed for volume {volume:?} : {}", one_line(error))
}

/// Upstream sets up what is in the spec, and says so of its volume; what can't be is found before that.
fn not_mounted(volume: &str, error: &VolumeSpecError) -> String {
    if error.is_about_content() {
        set_up_failed(volume, error)
    } else {
        format!("Unable to attach or mount volumes: {}", one_line(error))
    }
}
