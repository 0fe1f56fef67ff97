//! Our cases: thresholds, failures, order, restarts, bad input.

use proptest::prelude::*;

use super::*;

#[test]
fn the_collection_is_off_only_without_threshold_and_maximum_age() {
    for (high, max_age, enabled) in [(100, 0, false), (100, 1, true), (99, 0, true)] {
        assert_eq!(policy(high, 80, 0, max_age).is_enabled(), enabled, "{high} {max_age}");
    }
    assert!(ImageGcPolicy::default().is_enabled());
}

#[test]
fn what_is_to_be_freed_is_reckoned_in_whole_percents() {
    let policy = policy(85, 80, 0, 0);
    for (capacity, available, expected) in [
        (1000, 151, Some((85, 49))),
        (1000, 150, Some((85, 50))),
        (1000, 160, None),
        (1000, 0, Some((100, 200))),
        (1000, 2000, None),
        (100, 0, Some((100, 20))),
        (1, 0, Some((100, 0))),
        (u64::MAX, u64::MAX / 100, Some((100, 3_504_881_374_004_814_807))),
    ] {
        let need = SpaceNeed::of(&policy, DiskUsage { capacity, available }).expect("it has a size");
        assert_eq!(
            need.map(|need| (need.usage_percent, need.to_free)),
            expected,
            "{available} of {capacity}"
        );
    }
    let error = SpaceNeed::of(&policy, DiskUsage { capacity: 0, available: 0 }).expect_err("no size");
    assert_eq!(error.to_string(), "invalid capacity 0 on image filesystem");
    assert_eq!(error.event_reason(), Some("InvalidDiskCapacity"));
}

#[test]
fn sizes_are_shown_in_the_largest_unit_that_they_fill() {
    for (bytes, text) in [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536 * 1024, "1.5 MiB"),
        (10 * 1024 * 1024 * 1024, "10.0 GiB"),
        (3 * 1024 * 1024 * 1024 * 1024, "3.0 TiB"),
    ] {
        assert_eq!(readable_size(bytes), text);
    }
}

#[test]
fn a_removal_that_fails_does_not_stop_the_others() {
    let images = vec![image(0, 100), image(1, 100), image(2, 100)];
    let mut node = Node::new(policy(90, 80, 0, 0), images);
    node.stuck.extend(["image-0".to_owned(), "image-1".to_owned()]);
    let error = node.collect(DiskUsage { capacity: 1000, available: 50 }, 1).expect_err("two are stuck");
    assert_eq!(
        error.to_string(),
        "wanted to free 150 bytes, but freed 100 bytes space with errors in image deletion: [image-0 is stuck, image-1 is stuck]"
    );
    assert_eq!(error.event_reason(), None);
    assert_eq!(node.left(), ["image-0", "image-1"]);

    let mut node = Node::new(policy(90, 80, 0, 1), vec![image(0, 100), image(1, 100)]);
    node.stuck.insert("image-0".to_owned());
    node.detect(0);
    let error = node.collect(DiskUsage { capacity: 1000, available: 50 }, 2).expect_err("one is stuck");
    assert_eq!(
        error.to_string(),
        "wanted to free images older than 1s, encountered errors in image deletion: image-0 is stuck"
    );
    assert_eq!(node.left(), ["image-0"], "the other one was too old as well");
}

#[test]
fn an_image_that_was_never_used_is_as_old_as_its_detection() {
    let mut node = Node::new(policy(100, 80, 0, 60), vec![image(0, 1)]);
    let disk = DiskUsage { capacity: 1000, available: 600 };
    node.detect(0);
    node.images.push(image(1, 1));
    node.detect(50);
    assert_eq!(node.collect(disk, 61), Ok(()));
    assert_eq!(node.left(), ["image-1"], "it was pulled 11 s ago");
}

#[test]
fn nothing_is_too_old_before_the_maximum_age_has_been_recorded() {
    let mut node = Node::new(policy(100, 80, 0, 60), vec![image(0, 1)]);
    let disk = DiskUsage { capacity: 1000, available: 600 };
    node.records = ImageRecords::new(at(30));
    node.records.observe(&node.images, &node.in_use, at(0));
    node.records.tracked_since = at(30);
    assert_eq!(node.collect(disk, 90), Ok(()));
    assert_eq!(node.images.len(), 1);
    assert_eq!(node.collect(disk, 91), Ok(()));
    assert_eq!(node.images.len(), 0);
}

#[test]
fn times_survive_a_restart() {
    let mut node = Node::without_policy(vec![image(0, 1), image(1, 1), image(2, 1)]).using(&[1, 2]);
    node.detect(10);
    node.use_only(&[2]);
    node.detect(20);
    let saved = node.records.encode();
    node.records = ImageRecords::decode(&saved, at(100)).expect("it was saved");
    assert_eq!(node.records.tracked_since(), at(0));
    node.use_only(&[]);
    node.detect(100);
    assert_eq!(node.times(0), Some((at(10), None)));
    assert_eq!(node.times(1), Some((at(10), Some(at(10)))));
    assert_eq!(node.times(2), Some((at(10), Some(at(100)))), "used for as long as nothing was seen");
}

#[test]
fn ages_stay_when_the_clock_is_set() {
    for set_by in [86_400, -86_400] {
        let mut node = Node::new(policy(100, 80, 0, 60), vec![image(0, 1), image(1, 1)]).using(&[1]);
        node.detect(0);
        node.records.follow_clock(SignedDuration::from_secs(set_by));
        let disk = DiskUsage { capacity: 1000, available: 600 };
        assert_eq!(node.collect(disk, set_by + 60), Ok(()));
        assert_eq!(node.images.len(), 2, "set by {set_by} s");
        assert_eq!(node.collect(disk, set_by + 61), Ok(()));
        assert_eq!(node.left(), ["image-1"], "set by {set_by} s");
    }
}

#[test]
fn what_is_saved_changes_only_with_the_images_and_their_use() {
    let mut node = Node::without_policy(vec![image(0, 1), image(1, 1)]).using(&[1]);
    node.detect(0);
    let saved = node.records.encode();
    node.detect(300);
    node.images[0].size = 2;
    node.detect(600);
    assert_eq!(node.records.encode(), saved, "time alone, and sizes, change nothing");
    node.use_only(&[]);
    node.detect(900);
    let unused = node.records.encode();
    assert_ne!(unused, saved);
    node.images.pop();
    node.detect(1200);
    assert_ne!(node.records.encode(), unused);
}

#[test]
fn saved_times_that_make_no_sense_are_refused_and_later_ones_are_cut() {
    for bad in ["", "{", "{}", "[1]", r#"{"version":1}"#, r#"{"version":1,"trackedSince":"x","images":{}}"#] {
        let error = ImageRecords::decode(bad.as_bytes(), at(0)).expect_err(bad);
        assert!(matches!(error, ImageTimesError::Malformed(_)), "{bad}: {error}");
    }
    let error = ImageRecords::decode(br#"{"version":2}"#, at(0)).expect_err("a later form");
    assert_eq!(error.to_string(), "unsupported version 2 of image times, expected 1");

    let mut ahead = Node::without_policy(vec![image(0, 1)]).using(&[0]);
    ahead.detect(1000);
    ahead.use_only(&[]);
    ahead.detect(1001);
    ahead.records = ImageRecords::decode(&ahead.records.encode(), at(10)).expect("it was saved");
    assert_eq!(ahead.times(0), Some((at(10), Some(at(10)))));
    assert_eq!(ahead.free(1, 11), Ok(1), "a clock that was ahead protects nothing");
}

#[test]
fn no_more_than_a_bounded_number_is_saved_and_those_first_that_go_first() {
    let count = u32::try_from(RECORDS_SAVED_MAX).expect("small") + 10;
    let mut node = Node::without_policy((0..count).map(|number| image(number, 1)).collect()).using(&[0]);
    node.detect(0);
    let saved = node.records.encode();
    assert!(saved.len() < 1 << 20, "{} bytes", saved.len());
    let read = ImageRecords::decode(&saved, at(1)).expect("it was saved");
    assert_eq!(read.images.len(), RECORDS_SAVED_MAX);
    assert!(!read.images.contains_key("image-0"), "images in use have no time to lose");
}

#[test]
fn images_without_an_identifier_are_passed_over() {
    let mut node = Node::without_policy(vec![NodeImage { size: 7, ..NodeImage::default() }]);
    node.detect(0);
    assert_eq!(node.records.images.len(), 0);
}

proptest! {
    #![proptest_config(crate::fixtures::property(128))]

    /// Whatever images there are: what is in use, pinned or young stays; what goes is older in rank than what stays, and the last
    /// removal was needed.
    #[test]
    fn only_what_may_go_goes_and_no_more_than_needed(
        images in proptest::collection::vec((1u64..100, any::<bool>(), any::<bool>(), 0i64..200, 0i64..200), 0..30),
        to_free in 0i64..2000,
        min_age in 0i64..200,
    ) {
        let mut node = Node::new(policy(0, 0, min_age, 0), Vec::new());
        for (number, (size, is_pinned, in_use, detected, used)) in images.iter().enumerate() {
            let id = format!("image-{number}");
            node.images.push(pinned(&id, *size, *is_pinned));
            let listed = node.images.clone();
            node.records.observe(&listed, &BTreeSet::new(), at(0));
            let record = node.records.images.get_mut(&id).expect("observed");
            record.first_detected = at(*detected);
            record.last_used = (*used > 50).then(|| at(*used));
            if *in_use {
                node.in_use.insert(id);
            }
        }
        node.detect(200);
        let before = node.records.unused();
        let freed = node.free(to_free, 200).expect("nothing is stuck");
        let stays = node.records.unused();
        let removed: Vec<_> = before.iter().filter(|image| !stays.contains(image)).collect();
        prop_assert_eq!(removed.iter().map(|image| image.size).sum::<u64>(), freed);
        for image in &removed {
            prop_assert!(at(200).duration_since(image.first_detected) >= SignedDuration::from_secs(min_age));
            prop_assert!(!node.in_use.contains(&image.id));
        }
        let may_go = |image: &&UnusedImage| at(200).duration_since(image.first_detected) >= SignedDuration::from_secs(min_age);
        if let (Some(last), Some(next)) = (removed.last(), stays.iter().find(may_go)) {
            prop_assert!(last.rank() < next.rank());
            prop_assert!(i128::from(freed) >= i128::from(to_free), "it stopped early");
            prop_assert!(i128::from(freed - last.size) < i128::from(to_free).max(1), "it went on");
        }
    }
}
