//! Upstream's cases (`image_gc_manager_test.go`), in its order.

use std::collections::BTreeSet;

use super::*;
use crate::node::readings::NodeImage;

mod ours;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a time")
}

fn image(number: u32, size: u64) -> NodeImage {
    NodeImage { id: format!("image-{number}"), size, ..NodeImage::default() }
}

fn pinned(id: &str, size: u64, pinned: bool) -> NodeImage {
    NodeImage { id: id.to_owned(), size, pinned, ..NodeImage::default() }
}

fn policy(high: i32, low: i32, min_age: i64, max_age: i64) -> ImageGcPolicy {
    let seconds = SignedDuration::from_secs;
    ImageGcPolicy::new(high, low, seconds(min_age), seconds(max_age)).expect("a policy")
}

/// A runtime that removes what it is asked to, unless the image is stuck.
struct Node {
    policy: ImageGcPolicy,
    records: ImageRecords,
    images: Vec<NodeImage>,
    in_use: BTreeSet<String>,
    stuck: BTreeSet<String>,
}

impl Node {
    fn new(policy: ImageGcPolicy, images: Vec<NodeImage>) -> Self {
        let records = ImageRecords::new(at(0));
        Self { policy, records, images, in_use: BTreeSet::new(), stuck: BTreeSet::new() }
    }

    /// Upstream's tests have no policy but where they say so.
    fn without_policy(images: Vec<NodeImage>) -> Self {
        Self::new(policy(0, 0, 0, 0), images)
    }

    fn using(mut self, numbers: &[u32]) -> Self {
        self.use_only(numbers);
        self
    }

    fn use_only(&mut self, numbers: &[u32]) {
        self.in_use = numbers.iter().map(|number| format!("image-{number}")).collect();
    }

    fn detect(&mut self, second: i64) {
        self.records.observe(&self.images, &self.in_use, at(second));
    }

    fn carry_out(&mut self, mut reclaim: Reclaim) -> Result<u64, ReclaimError> {
        while let Some(image) = reclaim.next_image() {
            if self.stuck.contains(&image.id) {
                reclaim.failed(format!("{} is stuck", image.id));
                continue;
            }
            let place = self.images.iter().position(|other| other.id == image.id);
            self.images.remove(place.expect("only what is listed is removed"));
            self.records.remove(&image.id);
            reclaim.removed(&image);
        }
        reclaim.outcome()
    }

    fn free(&mut self, to_free: i64, second: i64) -> Result<u64, ReclaimError> {
        self.detect(second);
        let reclaim = Reclaim::space(&self.policy, self.records.unused(), to_free, at(second));
        self.carry_out(reclaim)
    }

    fn delete_unused(&mut self, second: i64) {
        self.detect(second);
        let reclaim = Reclaim::all(&self.policy, self.records.unused(), at(second));
        self.carry_out(reclaim).expect("nothing is stuck");
    }

    /// The whole collection.
    fn collect(&mut self, disk: DiskUsage, second: i64) -> Result<(), ReclaimError> {
        self.detect(second);
        let mut unused = self.records.unused();
        let old = Reclaim::old(&self.policy, &mut unused, self.records.tracked_since(), at(second));
        self.carry_out(old)?;
        let Some(need) = SpaceNeed::of(&self.policy, disk)? else { return Ok(()) };
        let freed = self.carry_out(Reclaim::space(&self.policy, unused, need.to_free, at(second)))?;
        need.satisfied_by(freed)
    }

    fn times(&self, number: u32) -> Option<(Timestamp, Option<Timestamp>)> {
        let found = self.records.images.get(&format!("image-{number}"))?;
        Some((found.first_detected, found.last_used))
    }

    fn left(&self) -> Vec<&str> {
        self.images.iter().map(|image| image.id.as_str()).collect()
    }
}

#[test]
fn detect_images_initial_detect() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048), image(2, 2048)]).using(&[1, 2]);
    node.detect(5);
    assert_eq!(node.times(0), Some((at(5), None)));
    assert_eq!(node.times(1), Some((at(5), Some(at(5)))));
    assert_eq!(node.times(2), Some((at(5), Some(at(5)))));
    assert_eq!(node.records.images.len(), 3);
}

#[test]
fn detect_images_with_new_image() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048)]).using(&[1]);
    node.detect(0);
    node.images = vec![image(0, 1024), image(1, 1024), image(2, 1024)];
    node.detect(1);
    assert_eq!(node.times(0), Some((at(0), None)));
    assert_eq!(node.times(1), Some((at(0), Some(at(1)))));
    assert_eq!(node.times(2), Some((at(1), None)));
}

#[test]
fn delete_unused_images_exempts_the_sandbox_image() {
    let mut node = Node::without_policy(vec![pinned("pause", 1024, true)]);
    node.delete_unused(1);
    assert_eq!(node.left(), ["pause"]);
}

#[test]
fn delete_pinned_image_that_is_listed_again_without_the_pin() {
    let mut node = Node::without_policy(vec![pinned("pause", 1024, true), pinned("pause", 1024, false)]);
    node.delete_unused(1);
    assert_eq!(node.left(), ["pause"], "one of the two");
}

#[test]
fn pinned_images_are_not_freed() {
    for (name, first, second, to_free, freed, left) in [
        ("do not delete pinned image", true, false, 4096, 1024, 1),
        ("delete unpinned images", false, false, 2048, 2048, 0),
        ("all pinned images", true, true, 2048, 0, 2),
    ] {
        let mut node = Node::without_policy(vec![pinned("1", 1024, first), pinned("2", 1024, second)]);
        assert_eq!(node.free(to_free, 1), Ok(freed), "{name}");
        assert_eq!(node.images.len(), left, "{name}");
    }
}

#[test]
fn detect_images_container_stopped() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048)]).using(&[1]);
    node.detect(0);
    node.use_only(&[]);
    node.detect(1);
    assert_eq!(node.times(0), Some((at(0), None)));
    assert_eq!(node.times(1), Some((at(0), Some(at(0)))));
}

#[test]
fn detect_images_with_removed_images() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048)]).using(&[1]);
    node.detect(0);
    node.images.clear();
    node.detect(1);
    assert_eq!(node.records.images.len(), 0);
}

#[test]
fn free_space_images_in_use_are_ignored() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048)]).using(&[1]);
    assert_eq!(node.free(2048, 1), Ok(1024));
    assert_eq!(node.left(), ["image-1"]);
}

#[test]
fn delete_unused_images_removes_all_unused_images() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048), image(2, 2048)]).using(&[2]);
    node.delete_unused(1);
    assert_eq!(node.left(), ["image-2"]);
}

#[test]
fn delete_unused_images_limited_by_image_live_time() {
    let images = vec![image(0, 1024), image(1, 2048), image(2, 2048)];
    let mut node = Node::new(policy(0, 0, 3, 0), images).using(&[2]);
    node.detect(0);
    node.delete_unused(1);
    assert_eq!(node.images.len(), 3, "none is old enough");
    node.delete_unused(3);
    assert_eq!(node.left(), ["image-2"]);
}

#[test]
fn free_space_removes_by_least_recently_used() {
    let mut node = Node::without_policy(vec![image(0, 1024), image(1, 2048)]).using(&[0, 1]);
    node.detect(0);
    node.use_only(&[1]);
    node.detect(1);
    node.use_only(&[]);
    node.detect(2);
    assert_eq!(node.free(1024, 62), Ok(1024));
    assert_eq!(node.left(), ["image-1"]);
}

#[test]
fn free_space_ties_are_broken_by_detected_time() {
    let mut node = Node::without_policy(vec![image(0, 1024)]).using(&[0]);
    node.detect(0);
    node.images = vec![image(0, 1024), image(1, 2048)];
    node.detect(1);
    node.use_only(&[]);
    node.detect(2);
    assert_eq!(node.free(1024, 3), Ok(2048), "image 1 was never used");
    assert_eq!(node.left(), ["image-0"]);
}

#[test]
fn garbage_collect_below_low_threshold() {
    let mut node = Node::new(policy(90, 80, 0, 0), vec![image(0, 1)]);
    assert_eq!(node.collect(DiskUsage { capacity: 1000, available: 600 }, 1), Ok(()));
    assert_eq!(node.images.len(), 1);
}

#[test]
fn garbage_collect_success() {
    let mut node = Node::new(policy(90, 80, 0, 0), vec![image(0, 450)]);
    assert_eq!(node.collect(DiskUsage { capacity: 1000, available: 50 }, 1), Ok(()));
    assert_eq!(node.left(), [""; 0]);
}

#[test]
fn garbage_collect_not_enough_freed() {
    let mut node = Node::new(policy(90, 80, 0, 0), vec![image(0, 500 * 1024 * 1024)]);
    let capacity = 10 * 1024 * 1024 * 1024;
    let error = node.collect(DiskUsage { capacity, available: capacity / 20 }, 1).expect_err("not enough");
    assert_eq!(error.event_reason(), Some("FreeDiskSpaceFailed"));
    assert_eq!(
        error.to_string(),
        "Insufficient free disk space on the node's image filesystem (95% of 10.0 GiB used). Failed to free sufficient space \
         by deleting unused images (freed 524288000 bytes). Investigate disk usage, as it could be used by active images, \
         logs, volumes, or other data."
    );
}

#[test]
fn garbage_collect_image_not_old_enough() {
    let mut node = Node::new(policy(90, 80, 60, 0), vec![image(0, 1024), image(1, 2048)]).using(&[1]);
    node.detect(0);
    assert_eq!(node.free(1024, 0), Ok(0));
    assert_eq!(node.images.len(), 2);
    assert_eq!(node.free(1024, 60), Ok(1024));
    assert_eq!(node.left(), ["image-1"]);
}

#[test]
fn garbage_collect_image_too_old() {
    let mut node = Node::new(policy(90, 80, 0, 60), vec![image(0, 1024), image(1, 2048)]).using(&[0, 1]);
    let disk = DiskUsage { capacity: 1000, available: 600 };
    node.detect(0);
    node.use_only(&[1]);
    for second in [0, 60] {
        assert_eq!(node.collect(disk, second), Ok(()));
        assert_eq!(node.images.len(), 2, "after {second} s it isn't too old");
    }
    assert_eq!(node.collect(disk, 61), Ok(()));
    assert_eq!(node.left(), ["image-1"]);
}

#[test]
fn garbage_collect_image_max_age_disabled() {
    let mut node = Node::new(policy(90, 80, 0, 0), vec![image(0, 1024), image(1, 2048)]).using(&[1]);
    for second in [0, 60, 3_000_000_000] {
        assert_eq!(node.collect(DiskUsage { capacity: 1000, available: 600 }, second), Ok(()));
        assert_eq!(node.images.len(), 2);
    }
}

#[test]
fn validate_image_gc_policy() {
    for (high, low, error) in [
        (2, 1, ""),
        (-1, 0, "invalid HighThresholdPercent -1, must be in range [0-100]"),
        (101, 0, "invalid HighThresholdPercent 101, must be in range [0-100]"),
        (0, -1, "invalid LowThresholdPercent -1, must be in range [0-100]"),
        (0, 101, "invalid LowThresholdPercent 101, must be in range [0-100]"),
        (1, 2, "LowThresholdPercent 2 can not be higher than HighThresholdPercent 1"),
    ] {
        let made = ImageGcPolicy::new(high, low, SignedDuration::ZERO, SignedDuration::ZERO);
        assert_eq!(made.map(drop).map_err(|error| error.to_string()).err().unwrap_or_default(), error);
    }
}
