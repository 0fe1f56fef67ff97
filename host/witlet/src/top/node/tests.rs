//! Rows of resources.

use super::*;

#[test]
fn a_row_has_amounts_and_their_share() {
    let row = |resource: &str, [capacity, allocatable, requested]: [&str; 3], used: Option<&str>| {
        let item = json!({
            "resource": resource, "capacity": capacity, "allocatable": allocatable, "requested": requested, "used": used,
        });
        row(&item).join("|")
    };
    assert_eq!(row("cpu", ["4", "3500m", "700m"], Some("1")), "cpu|4|3500m|700m|20%|1|25%");
    let memory = ["16Gi", "8Gi", "4Gi"];
    assert_eq!(row("memory", memory, Some("12Gi")), "memory|16.0 GiB|8.0 GiB|4.0 GiB|50%|12.0 GiB|75%");
    assert_eq!(row("pods", ["110", "110", "3"], None), "pods|110|110|3|2%||");
    assert_eq!(row("example.com/gpu", ["0", "0", "0"], None), "example.com/gpu|0|0|0|||");
}
