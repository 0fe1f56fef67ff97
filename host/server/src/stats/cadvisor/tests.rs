//! Rows of a machine that is made of figures.

use k8s_openapi::api::core::v1::{ContainerStatus, NodeStatus, NodeSystemInfo, PodStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use witlet_core::stats::cadvisor::{CgroupDetails, FilesystemUsage};
use witlet_core::stats::network::InterfaceUsage;

use super::super::VOLUME_STATS_PERIOD;
use super::super::tests::Machine as Figures;
use super::*;

fn cgroup(path: &str) -> DetailedCgroup {
    let at = jiff::Timestamp::from_second(1_790_000_000).unwrap();
    DetailedCgroup { path: path.to_owned(), details: CgroupDetails::of_v2(at, false, None, |_| None) }
}

fn interface(name: &str) -> Vec<InterfaceUsage> {
    vec![InterfaceUsage { name: name.to_owned(), ..InterfaceUsage::default() }]
}

#[tokio::test]
async fn each_cgroup_has_the_labels_of_what_it_belongs_to() {
    let pods = Figures::default().ports().pods.list_pods().await.unwrap();
    let status = ContainerStatus {
        name: "app".to_owned(),
        image: "example.com/app:1".to_owned(),
        ..ContainerStatus::default()
    };
    let status = PodStatus { container_statuses: Some(vec![status]), ..PodStatus::default() };
    let spec = ShownPod { pod: Arc::default(), status: Some(Arc::new(status)) };
    let of_pod = PodDetails {
        cgroup: Some(cgroup("/kubepods/podu-1")),
        sandbox: Some(cgroup("/kubepods/podu-1/s-1")),
        containers: BTreeMap::from([("c-1".into(), cgroup("/kubepods/podu-1/c-1"))]),
        network: interface("eth0"),
    };
    let details = KernelDetails {
        node: vec![cgroup("/"), cgroup("/kubepods")],
        pods: BTreeMap::from([("u-1".into(), of_pod)]),
        network: interface("ens3"),
        filesystems: vec![FilesystemUsage::default()],
        ..KernelDetails::default()
    };
    let rows = rows(&pods, &BTreeMap::from([("u-1".into(), spec)]), details);
    let shown: Vec<[&str; 6]> = rows
        .iter()
        .map(|row| {
            let RowLabels { container, id, image, name, namespace, pod } = &row.labels;
            [&**id, &**namespace, &**pod, &**container, &**image, &**name]
        })
        .collect();
    let expected = [
        ["/", "", "", "", "", ""],
        ["/kubepods", "", "", "", "", ""],
        ["/kubepods/podu-1", "ns", "pod-u-1", "", "", ""],
        ["/kubepods/podu-1/s-1", "ns", "pod-u-1", "", "", "s-1"],
        ["/kubepods/podu-1/c-1", "ns", "pod-u-1", "app", "example.com/app:1", "c-1"],
    ];
    assert_eq!(shown, expected);
    // The network is the sandbox's, and file systems are the node's.
    let interfaces: Vec<usize> = rows.iter().map(|row| row.network.len()).collect();
    assert_eq!(interfaces, [1, 0, 0, 1, 0]);
    let filesystems: Vec<usize> = rows.iter().map(|row| row.filesystems.len()).collect();
    assert_eq!(filesystems, [1, 0, 0, 0, 0]);
}

#[test]
fn the_machine_is_what_the_node_says() {
    let info = NodeSystemInfo {
        machine_id: "m".to_owned(),
        boot_id: "b".to_owned(),
        os_image: "Linux".to_owned(),
        ..NodeSystemInfo::default()
    };
    let capacity = BTreeMap::from([("memory".to_owned(), Quantity("2Ki".to_owned()))]);
    let status = NodeStatus { node_info: Some(info), capacity: Some(capacity), ..NodeStatus::default() };
    let found = machine(&Node { status: Some(status), ..Node::default() });
    let expected = Machine {
        machine_id: "m".to_owned(),
        boot_id: "b".to_owned(),
        os_version: "Linux".to_owned(),
        memory: Some(2048),
        // A node without swap says nothing of it.
        swap: Some(0),
        ..Machine::default()
    };
    assert_eq!(found, expected);
    assert_eq!(machine(&Node::default()), Machine::default());
}

#[tokio::test(start_paused = true)]
async fn scrapes_at_the_same_time_share_one_check() {
    let figures = Arc::new(Figures::default());
    let provider = StatsProvider::new(figures.shared_ports(), Some(VOLUME_STATS_PERIOD));
    let first = provider.cgroups().await;
    assert!(Arc::ptr_eq(&first, &provider.cgroups().await));
    assert!(!first.has_failed);
    tokio::time::advance(FRESH).await;
    assert!(!Arc::ptr_eq(&first, &provider.cgroups().await));
    // Each pod that runs was asked about with its sandbox.
    let asked: Vec<_> = figures.asked().into_iter().map(|pod| pod.sandbox.unwrap().to_string()).collect();
    assert_eq!(asked, ["s-1", "s-3"]);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_does_not_answer_is_a_figure() {
    let figures = Arc::new(Figures::default());
    figures.go_down();
    let scrape = StatsProvider::new(figures.shared_ports(), Some(VOLUME_STATS_PERIOD)).cgroups().await;
    assert!(scrape.has_failed);
}
