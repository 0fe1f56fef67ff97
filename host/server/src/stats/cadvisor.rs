//! The cgroups of `/metrics/cadvisor`, with whose they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use tokio::time::Instant;
use witlet_core::pod::{PodUid, quantity};
use witlet_core::runtime::{ListedContainer, RuntimePod};
use witlet_core::stats::cadvisor::{Machine, Row, RowLabels, Scrape};
use witlet_ports::{DetailedCgroup, KernelDetails, PodDetails, RunningPod, ShownPod};

use super::{FRESH, StatsProvider, running};

#[cfg(test)]
mod tests;

impl StatsProvider {
    /// Returns all cgroups in full, as they are now or were within the last second. What can't be had is a figure of its own.
    pub(crate) async fn cgroups(&self) -> Arc<Scrape> {
        let mut newest = self.cgroups.lock().await;
        if let Some((at, scrape)) = &*newest
            && at.elapsed() < FRESH
        {
            return scrape.clone();
        }
        let scrape = Arc::new(self.read_cgroups().await);
        *newest = Some((Instant::now(), scrape.clone()));
        scrape
    }

    async fn read_cgroups(&self) -> Scrape {
        let listed = match self.ports.pods.list_pods_within(FRESH).await {
            Ok(listed) => Some(listed),
            Err(error) => {
                tracing::error!(%error, "Failed to list the pods of the runtime");
                None
            }
        };
        let has_failed = listed.is_none();
        let pods = listed.unwrap_or_default();
        let specs = self.specs();
        let asked: Vec<RunningPod> =
            pods.iter().filter_map(|pod| running(pod, specs.get(&pod.uid))).collect();
        let details = self.ports.kernel.details(asked).await;
        let has_failed = has_failed || details.is_none();
        let mut details = details.unwrap_or_default();
        Scrape {
            at: self.ports.clock.now(),
            has_failed,
            devices: std::mem::take(&mut details.devices),
            machine: Machine { topology: details.topology, ..machine(&self.ports.view.node()) },
            rows: rows(&pods, &specs, details),
        }
    }
}

/// The node as its object describes it.
fn machine(node: &Node) -> Machine {
    let status = node.status.as_ref();
    let capacity = |resource: &str| {
        let amount = quantity::value(status?.capacity.as_ref()?.get(resource)?).ok()?;
        u64::try_from(amount).ok()
    };
    let Some(info) = status.and_then(|status| status.node_info.as_ref()) else {
        return Machine { memory: capacity("memory"), ..Machine::default() };
    };
    // A node without swap doesn't tell of it.
    let swap = info.swap.as_ref().and_then(|swap| swap.capacity).unwrap_or(0);
    Machine {
        machine_id: info.machine_id.clone(),
        system_uuid: info.system_uuid.clone(),
        boot_id: info.boot_id.clone(),
        kernel_version: info.kernel_version.clone(),
        os_version: info.os_image.clone(),
        topology: None,
        memory: capacity("memory"),
        swap: u64::try_from(swap).ok(),
    }
}

/// A row for each cgroup: the node's first, then each pod's own, its sandbox's and its containers'.
fn rows(pods: &[RuntimePod], specs: &BTreeMap<PodUid, ShownPod>, details: KernelDetails) -> Vec<Row> {
    let KernelDetails { node, pods: mut of_pods, network, filesystems, .. } = details;
    let mut rows: Vec<Row> = node.into_iter().map(|cgroup| row(cgroup, RowLabels::default())).collect();
    if let Some(root) = rows.first_mut().filter(|row| row.labels.id == "/") {
        root.network = network;
        root.filesystems = filesystems;
    }
    for pod in pods {
        if let Some(details) = of_pods.remove(&pod.uid) {
            rows.extend(rows_of_pod(pod, specs.get(&pod.uid), details));
        }
    }
    rows
}

fn rows_of_pod(pod: &RuntimePod, spec: Option<&ShownPod>, details: PodDetails) -> Vec<Row> {
    let PodDetails { cgroup, sandbox: of_sandbox, mut containers, network } = details;
    let labels =
        || RowLabels { namespace: pod.namespace.clone(), pod: pod.name.clone(), ..RowLabels::default() };
    let mut rows: Vec<Row> = cgroup.map(|cgroup| row(cgroup, labels())).into_iter().collect();
    if let Some((cgroup, sandbox)) = of_sandbox.zip(pod.sandbox()) {
        let labels = RowLabels { name: sandbox.id.to_string(), ..labels() };
        rows.push(Row { network, ..row(cgroup, labels) });
    }
    for container in pod.running_containers() {
        let Some(cgroup) = containers.remove(&container.id) else { continue };
        let labels = RowLabels {
            container: container.name.clone(),
            image: spec.and_then(|spec| image(spec, container)).unwrap_or_default(),
            name: container.id.to_string(),
            ..labels()
        };
        rows.push(row(cgroup, labels));
    }
    rows
}

fn row(cgroup: DetailedCgroup, labels: RowLabels) -> Row {
    Row {
        labels: RowLabels { id: cgroup.path, ..labels },
        started_at: cgroup.details.created_at,
        details: cgroup.details,
        network: Vec::new(),
        filesystems: Vec::new(),
    }
}

/// The container's image as the runtime names it.
fn image(shown: &ShownPod, container: &ListedContainer) -> Option<String> {
    let status = shown.status.as_deref().or(shown.pod.status.as_ref())?;
    let all =
        [&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses];
    let found = all.into_iter().flatten().flatten().find(|status| status.name == container.name)?;
    Some(found.image.clone())
}
