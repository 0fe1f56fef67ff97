//! Values that end the start on any node, alone or in a cluster.

use super::super::tests::{good, read};

#[test]
fn values_are_refused_whether_or_not_there_is_a_cluster() {
    for (fields, expected) in [
        ("eventBurst: -1", "eventBurst (--event-burst) -1 must not be a negative number"),
        ("eventRecordQPS: -1", "eventRecordQPS (--event-qps) -1 must not be a negative number"),
        ("kubeAPIBurst: -1", "kubeAPIBurst (--kube-api-burst) -1 must not be a negative number"),
        ("kubeAPIQPS: -1", "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number"),
        (
            "nodeStatusMaxImages: -2",
            "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater",
        ),
        ("nodeLeaseDurationSeconds: -1", "nodeLeaseDurationSeconds must be greater than 0"),
        (
            "registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: '2026-01-01T00:00:00Z'}]",
            "taint.TimeAdded is not nil",
        ),
        ("podLogsDir: /path/../", "pod logs path \"/path/../\" must be normalized"),
        ("podLogsDir: /path//to", "pod logs path \"/path//to\" must be normalized"),
        ("podLogsDir: /🧪", "pod logs path \"/🧪\" mut contains ASCII characters only"),
        (
            "cpuCFSQuotaPeriod: 200ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}",
            "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {200ms} requires feature gate CustomCPUCFSQuotaPeriod",
        ),
        (
            "cpuCFSQuotaPeriod: 2s",
            "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec, inclusive",
        ),
        (
            "memoryReservationPolicy: TieredReservation",
            "memoryReservationPolicy \"TieredReservation\" requires MemoryQoS feature gate to be enabled",
        ),
        (
            "memoryReservationPolicy: invalid",
            "option \"invalid\" specified for memoryReservationPolicy. Valid options are \"None\" or \"TieredReservation\"",
        ),
        (
            "reservedSystemCPUs: 0-3\nkubeReservedCgroup: /system.slice",
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup",
        ),
    ] {
        for line in ["", "--kubeconfig=/k"] {
            let error = read(fields, line).expect_err(fields).to_string();
            assert!(
                error.contains(&format!("invalid configuration: {expected}")),
                "{fields} {line}: {error}"
            );
        }
    }
    for fields in [
        "podsPerCore: -1",
        "readOnlyPort: 65536",
        "registryBurst: -1",
        "registryPullQPS: -1",
        "maxParallelImagePulls: 0",
    ] {
        let name = fields.split(':').next().expect("a field");
        let error = read(fields, "").expect_err(fields).to_string();
        assert!(error.contains(name), "{fields}: {error}");
    }
}

#[test]
fn values_at_their_bounds_are_taken() {
    for fields in [
        "eventBurst: 0\neventRecordQPS: 0\nkubeAPIBurst: 0\nkubeAPIQPS: 0\nnodeStatusMaxImages: -1",
        "podLogsDir: /var/log/other",
        // It starts at the file's folder.
        "podLogsDir: ./test",
        "cpuCFSQuotaPeriod: 100ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}",
        "maxParallelImagePulls: 1\nserializeImagePulls: true",
    ] {
        good(fields, "--kubeconfig=/k");
    }
}

#[test]
fn a_folder_of_logs_from_a_drop_in_stays_relative_and_is_refused() {
    assert_eq!(
        super::of_pod_logs("./test"),
        ["pod logs path \"./test\" must be absolute path", "pod logs path \"./test\" must be normalized"]
    );
}
