//! Cases for what crosses the CRI.

use super::*;
use crate::workload::ExitReason;

fn container_request() -> cri::ContainerConfig {
    cri::ContainerConfig {
        metadata: Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 2 }),
        image: Some(cri::ImageSpec { image: "file:a.wasm".to_owned(), ..Default::default() }),
        ..Default::default()
    }
}

#[test]
fn resources_come_back_as_they_were_given() {
    let given = cri::LinuxContainerResources {
        memory_limit_in_bytes: 1 << 30,
        cpu_shares: 512,
        cpu_quota: 50_000,
        cpu_period: 100_000,
        oom_score_adj: -997,
        ..Default::default()
    };
    let linux = cri::LinuxContainerConfig { resources: Some(given.clone()), ..Default::default() };
    let request = cri::ContainerConfig { linux: Some(linux), ..container_request() };
    let config = container_spec(Some(request)).expect("it is well-formed");
    assert_eq!(container_resources(&config.resources).linux, Some(given));
}

#[test]
fn mounts_and_devices_that_cannot_be_had_are_refused() {
    let mount = |container_path: &str| cri::Mount {
        container_path: container_path.to_owned(),
        host_path: "/srv".to_owned(),
        ..Default::default()
    };
    let image = Some(cri::ImageSpec::default());
    let refused = |mounts: Vec<cri::Mount>, devices: Vec<cri::Device>| {
        let request = cri::ContainerConfig { mounts, devices, ..container_request() };
        let status = container_spec(Some(request)).expect_err("it can't be had");
        assert_eq!(status.code(), Code::InvalidArgument);
        status.message().to_owned()
    };
    assert!(refused(vec![mount("data")], vec![]).contains("isn't an absolute path"));
    assert!(refused(vec![mount("/a/../b")], vec![]).contains("without `..`"));
    assert!(refused(vec![cri::Mount { image, ..mount("/a") }], vec![]).contains("images can't be mounted"));
    assert!(refused(vec![mount("/a"); MOUNTS_MAX + 1], vec![]).contains("more than 128 mounts"));
    let device = cri::Device { host_path: "/dev/null".to_owned(), ..Default::default() };
    assert!(refused(vec![], vec![device]).contains("/dev/null"));
}

#[test]
fn logs_stay_in_the_sandboxs_folder() {
    for (path, fits) in
        [("", true), ("app/0.log", true), ("./a", true), ("/a", false), ("../a", false), ("a/../b", false)]
    {
        let request = cri::ContainerConfig { log_path: path.to_owned(), ..container_request() };
        assert_eq!(container_spec(Some(request)).is_ok(), fits, "{path:?}");
    }
}

#[test]
fn a_containers_life_is_reported_in_the_cris_terms() {
    let second = |second| Timestamp::from_second(second).expect("a time");
    let exit = Exit { code: 137, reason: ExitReason::OomKilled, message: "too much".to_owned() };
    for (life, expected) in [
        (Life::Created, (cri::ContainerState::ContainerCreated, 0, 0, 0, "", "")),
        (
            Life::Running { started_at: second(2) },
            (cri::ContainerState::ContainerRunning, 2_000_000_000, 0, 0, "", ""),
        ),
        (
            Life::Exited { started_at: Some(second(2)), finished_at: second(3), exit },
            (
                cri::ContainerState::ContainerExited,
                2_000_000_000,
                3_000_000_000,
                137,
                "OOMKilled",
                "too much",
            ),
        ),
    ] {
        let record = ContainerRecord {
            id: "c".to_owned(),
            sandbox_id: "s".to_owned(),
            config: container_spec(Some(container_request())).expect("it is well-formed"),
            image_id: "sha256:0".to_owned(),
            log: None,
            created_at: second(1),
            life,
        };
        let status = container_status(&record);
        let reported = (
            status.state(),
            status.started_at,
            status.finished_at,
            status.exit_code,
            status.reason.as_str(),
            status.message.as_str(),
        );
        assert_eq!(reported, expected);
        assert_eq!((status.created_at, status.image_ref.as_str()), (1_000_000_000, "sha256:0"));
        assert_eq!(status.metadata, Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 2 }));
    }
}

#[test]
fn a_failure_is_reported_with_its_causes() {
    let error = ImageError::Compile {
        reference: "file:a.wasm".to_owned(),
        cause: CompileError::NotAComponent { found: "it is empty" },
    };
    let status = pods_status(&PodsError::Image(error));
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "image \"file:a.wasm\": not a WebAssembly component: it is empty");
}
