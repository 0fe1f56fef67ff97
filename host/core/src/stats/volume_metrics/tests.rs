//! What is shown of claims.

use super::*;
use crate::stats::exposition::written;
use crate::stats::summary::tests::measurements;
use crate::stats::summary::{Scope, Summary};

fn lines(summary: &Summary) -> Vec<String> {
    let volumes = summary.pods.iter().flat_map(|pod| &pod.volume);
    let text = written(|to| to.families(&volume_metrics(volumes))).expect("it is small");
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn each_claim_is_shown_once_with_all_of_its_figures() {
    let mut summary = measurements().summary(Scope::All);
    let again = summary.pods[0].clone();
    summary.pods.push(again);
    let of = |name: &str, [claim, own]: [u64; 2]| {
        ["claim", "web-own"].into_iter().zip([claim, own]).map(move |(claim, value)| {
            format!("kubelet_volume_stats_{name}{{namespace=\"ns\",persistentvolumeclaim=\"{claim}\"}} {value}")
        }).collect::<Vec<_>>()
    };
    let expected = [
        of("available_bytes", [2000, 2000]),
        of("capacity_bytes", [5000, 5000]),
        of("inodes", [100, 100]),
        of("inodes_free", [60, 60]),
        of("inodes_used", [1, 1]),
        of("used_bytes", [4000, 8000]),
    ];
    assert_eq!(lines(&summary), expected.concat());
}

#[test]
fn what_is_not_known_is_0_and_what_is_of_no_claim_is_not_shown() {
    let mut measured = measurements();
    measured.nodefs = None;
    measured.pods[0].volumes.retain(|volume| volume.name == "data");
    let shown = lines(&measured.summary(Scope::All));
    let figures: Vec<&str> = shown.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(figures, ["0", "0", "0", "0", "1", "4000"]);
    measured.pods[0].volumes.clear();
    assert!(lines(&measured.summary(Scope::All)).is_empty());
}
