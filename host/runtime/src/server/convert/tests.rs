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
fn a_memory_limit_is_one_only_if_it_is_positive() {
    for (bytes, expected) in [(0, None), (-1, None), (1, Some(1)), (i64::MAX, Some(i64::MAX as u64))] {
        let resources = cri::LinuxContainerResources { memory_limit_in_bytes: bytes, ..Default::default() };
        let linux = cri::LinuxContainerConfig { resources: Some(resources), ..Default::default() };
        let request = cri::ContainerConfig { linux: Some(linux), ..container_request() };
        let config = container_config(Some(request)).expect("it is well-formed");
        assert_eq!(config.memory_bytes_max, expected, "{bytes}");
    }
}

#[test]
fn logs_stay_in_the_sandboxs_folder() {
    for (path, fits) in
        [("", true), ("app/0.log", true), ("./a", true), ("/a", false), ("../a", false), ("a/../b", false)]
    {
        let request = cri::ContainerConfig { log_path: path.to_owned(), ..container_request() };
        assert_eq!(container_config(Some(request)).is_ok(), fits, "{path:?}");
    }
}

#[test]
fn a_containers_life_is_told_in_the_cris_terms() {
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
            config: container_config(Some(container_request())).expect("it is well-formed"),
            image_id: "sha256:0".to_owned(),
            log: None,
            created_at: second(1),
            life,
        };
        let status = container_status(&record);
        let told = (
            status.state(),
            status.started_at,
            status.finished_at,
            status.exit_code,
            status.reason.as_str(),
            status.message.as_str(),
        );
        assert_eq!(told, expected);
        assert_eq!((status.created_at, status.image_ref.as_str()), (1_000_000_000, "sha256:0"));
        assert_eq!(status.metadata, Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 2 }));
    }
}

#[test]
fn a_failure_is_told_with_its_causes() {
    let error = ImageError::Compile {
        reference: "file:a.wasm".to_owned(),
        cause: CompileError::NotAComponent { found: "it is empty" },
    };
    let status = pods_status(&PodsError::Image(error));
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "image \"file:a.wasm\": not a WebAssembly component: it is empty");
}
