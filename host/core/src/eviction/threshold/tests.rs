//! Upstream's cases of parsing (`helpers_test.go`: `TestParseThresholdConfig`, `TestAddAllocatableThresholds`, `TestParsePercentage`,
//! `TestCompareThresholdValue`, `TestAddContainerFsThresholds`), its words of refusal, and defaults.

use super::*;
use crate::eviction::fixtures::{amount, hard, soft};
use crate::eviction::signal::SIGNALS;

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn map(pairs: Pairs<'_>) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn config(hard: Pairs<'_>, soft: Pairs<'_>, grace: Pairs<'_>, reclaim: Pairs<'_>) -> ThresholdConfig {
    ThresholdConfig {
        hard: Some(map(hard)),
        soft: map(soft),
        soft_grace: map(grace),
        min_reclaim: map(reclaim),
        ..ThresholdConfig::default()
    }
}

fn part(signal: Signal, part: f32, reclaim: f32, grace: i64) -> Threshold {
    Threshold {
        signal,
        value: ThresholdValue::Percentage(part),
        grace: SignedDuration::from_secs(grace),
        min_reclaim: Some(ThresholdValue::Percentage(reclaim)),
    }
}

/// Thresholds of bytes or inodes.
fn disk(kind: &str) -> ThresholdConfig {
    let (image, node) = (format!("imagefs.{kind}"), format!("nodefs.{kind}"));
    config(
        &[(&image, "150Mi"), (&node, "100Mi")],
        &[(&image, "300Mi"), (&node, "200Mi")],
        &[(&image, "30s"), (&node, "30s")],
        &[(&image, "2Gi"), (&node, "1Gi")],
    )
}

fn disk_thresholds(node: Signal, image: Signal) -> Vec<Threshold> {
    vec![
        hard(node, "100Mi", Some("1Gi")),
        hard(image, "150Mi", Some("2Gi")),
        soft(node, "200Mi", Some("1Gi"), 30),
        soft(image, "300Mi", Some("2Gi"), 30),
    ]
}

#[test]
fn configurations_become_thresholds() {
    use Signal::{AllocatableMemoryAvailable, ImageFsAvailable, MemoryAvailable, NodeFsAvailable};
    let memory = config(
        &[("memory.available", "150Mi")],
        &[("memory.available", "300Mi")],
        &[("memory.available", "30s")],
        &[("memory.available", "0")],
    );
    let memory = ThresholdConfig { enforces_pods: true, ..memory };
    let cases = [
        ("no values", config(&[], &[], &[], &[]), vec![]),
        (
            "all memory eviction values",
            memory,
            vec![
                hard(MemoryAvailable, "150Mi", Some("0")),
                soft(MemoryAvailable, "300Mi", Some("0"), 30),
                hard(AllocatableMemoryAvailable, "150Mi", Some("0")),
            ],
        ),
        (
            "all memory eviction values in percentages",
            config(
                &[("memory.available", "10%")],
                &[("memory.available", "30%")],
                &[("memory.available", "30s")],
                &[("memory.available", "5%")],
            ),
            vec![part(MemoryAvailable, 0.1, 0.05, 0), part(MemoryAvailable, 0.3, 0.05, 30)],
        ),
        ("disk eviction values", disk("available"), disk_thresholds(NodeFsAvailable, ImageFsAvailable)),
        (
            "disk eviction values in percentages",
            config(
                &[("imagefs.available", "15%"), ("nodefs.available", "10.5%")],
                &[("imagefs.available", "30%"), ("nodefs.available", "20.5%")],
                &[("imagefs.available", "30s"), ("nodefs.available", "30s")],
                &[("imagefs.available", "10%"), ("nodefs.available", "5%")],
            ),
            vec![
                part(NodeFsAvailable, 0.105, 0.05, 0),
                part(ImageFsAvailable, 0.15, 0.1, 0),
                part(NodeFsAvailable, 0.205, 0.05, 30),
                part(ImageFsAvailable, 0.3, 0.1, 30),
            ],
        ),
        (
            "inode eviction values",
            disk("inodesFree"),
            disk_thresholds(Signal::NodeFsInodesFree, Signal::ImageFsInodesFree),
        ),
        (
            "disable via 0%",
            config(&[("memory.available", "0%")], &[("memory.available", "0%")], &[], &[]),
            vec![],
        ),
        (
            "disable via 100%",
            config(&[("memory.available", "100%")], &[("memory.available", "100%")], &[], &[]),
            vec![],
        ),
    ];
    for (name, config, expected) in cases {
        assert_eq!(config.thresholds(), Ok(expected), "{name}");
    }
}

const UNKNOWN: &str = "unsupported eviction signal mem.available";

fn memory(value: &str) -> [(&str, &str); 1] {
    [("memory.available", value)]
}

fn check_refusals(cases: &[(&str, ThresholdConfig, &str)]) {
    for (name, config, expected) in cases {
        let refused = config.thresholds().expect_err(name);
        assert_eq!(refused.to_string(), *expected, "{name}");
    }
}

#[test]
fn thresholds_that_make_no_sense_are_refused_in_upstreams_words() {
    check_refusals(&[
        ("invalid-signal", config(&[("mem.available", "150Mi")], &[], &[], &[]), UNKNOWN),
        (
            "hard-signal-negative",
            config(&memory("-150Mi"), &[], &[], &[]),
            "eviction threshold memory.available must be positive: -150Mi",
        ),
        (
            "hard-signal-negative-percentage",
            config(&memory("-15%"), &[], &[], &[]),
            "eviction percentage threshold memory.available must be >= 0%: -15%",
        ),
        (
            "hard-signal-percentage-greater-than-100%",
            config(&memory("150%"), &[], &[], &[]),
            "eviction percentage threshold memory.available must be <= 100%: 150%",
        ),
        (
            "soft-signal-negative",
            config(&[], &memory("-150Mi"), &[], &[]),
            "eviction threshold memory.available must be positive: -150Mi",
        ),
        (
            "valid-and-invalid-signal",
            config(&[("memory.available", "150Mi"), ("invalid.foo", "150Mi")], &[], &[], &[]),
            "unsupported eviction signal invalid.foo",
        ),
    ]);
}

#[test]
fn grace_periods_and_reclaims_that_make_no_sense_are_refused_in_upstreams_words() {
    check_refusals(&[
        (
            "soft-no-grace-period",
            config(&[], &memory("150Mi"), &[], &[]),
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        (
            "soft-negative-grace-period",
            config(&[], &memory("150Mi"), &memory("-30s"), &[]),
            "invalid eviction grace period specified: -30s, must be a positive value",
        ),
        (
            "negative-reclaim",
            config(&[], &[], &[], &memory("-300Mi")),
            "negative eviction minimum reclaim specified for memory.available",
        ),
        ("min-reclaim-invalid-signal", config(&[], &[], &[], &[("mem.available", "300Mi")]), UNKNOWN),
        (
            "min-reclaim-empty-value",
            config(&[], &[], &[], &memory("")),
            "memory.available: quantity must not be empty",
        ),
        (
            "min-reclaim-negative-percentage",
            config(&[], &[], &[], &memory("-15%")),
            "eviction percentage minimum reclaim memory.available must be positive: -15%",
        ),
        (
            "min-reclaim-invalid-percentage",
            config(&[], &[], &[], &memory("10..5%")),
            "memory.available: \"10..5%\" is not a percentage",
        ),
        (
            "hard-signal-empty-eviction-value",
            config(&memory(""), &[], &[], &[]),
            "memory.available: quantity must not be empty",
        ),
        (
            "hard-signal-invalid-float-percentage",
            config(&memory("10..5%"), &[], &[], &[]),
            "memory.available: \"10..5%\" is not a percentage",
        ),
        (
            "soft-grace-period-invalid-signal",
            config(&[], &memory("150Mi"), &[("mem.available", "30s")], &[]),
            UNKNOWN,
        ),
        (
            "soft-invalid-grace-period",
            config(&[], &memory("150Mi"), &memory("30mins"), &[]),
            "time: invalid duration \"30mins\"",
        ),
        (
            "a number that is none",
            config(&memory("NaN%"), &[], &[], &[]),
            "memory.available: \"NaN%\" is not a percentage",
        ),
        (
            "nothing",
            config(&memory("0"), &[], &[], &[]),
            "eviction threshold memory.available must be positive: 0",
        ),
    ]);
}

#[test]
fn defaults_hold_unless_the_field_is_set_and_fill_it_up_if_asked_to() {
    let texts = |config: &ThresholdConfig| {
        let thresholds = config.thresholds().expect("thresholds");
        let text = |threshold: &Threshold| format!("{}<{}", threshold.signal, threshold.value);
        thresholds.iter().map(text).collect::<Vec<_>>().join(" ")
    };
    let all = "memory.available<100Mi nodefs.available<10% nodefs.inodesFree<5% imagefs.available<15% \
               imagefs.inodesFree<5%";
    assert_eq!(texts(&ThresholdConfig::default()), all);
    assert_eq!(texts(&config(&[], &[], &[], &[])), "", "an empty field is set, too");
    let own = config(&[("memory.available", "1Gi"), ("nodefs.inodesFree", "0%")], &[], &[], &[]);
    assert_eq!(texts(&own), "memory.available<1Gi");
    let merged = ThresholdConfig { merge_defaults: true, ..own };
    assert_eq!(
        texts(&merged),
        "memory.available<1Gi nodefs.available<10% imagefs.available<15% imagefs.inodesFree<5%"
    );
}

#[test]
fn only_hard_thresholds_of_memory_hold_for_allocatable_memory() {
    use Signal::{AllocatableMemoryAvailable, ImageFsAvailable, MemoryAvailable};
    let cases = [
        ("non-memory-signal", vec![hard(ImageFsAvailable, "150Mi", Some("0"))], vec![]),
        ("memory-signal-with-grace", vec![soft(MemoryAvailable, "150Mi", Some("0"), 10)], vec![]),
        (
            "memory-signal-without-grace",
            vec![hard(MemoryAvailable, "150Mi", Some("0"))],
            vec![hard(AllocatableMemoryAvailable, "150Mi", Some("0"))],
        ),
        (
            "memory-signal-without-grace-two-thresholds",
            vec![hard(MemoryAvailable, "150Mi", Some("0")), hard(MemoryAvailable, "200Mi", Some("1Gi"))],
            vec![
                hard(AllocatableMemoryAvailable, "150Mi", Some("0")),
                hard(AllocatableMemoryAvailable, "200Mi", Some("1Gi")),
            ],
        ),
    ];
    for (name, thresholds, expected) in cases {
        let added: Vec<Threshold> = thresholds.iter().filter_map(for_allocatable).collect();
        assert_eq!(added, expected, "{name}");
    }
}

#[test]
fn percentages_are_read() {
    let of = |text: &str| percentage(Signal::MemoryAvailable, text).ok();
    assert_eq!([of("blah"), of("25.5%"), of("foo%"), of("12%345")], [None, Some(0.255), None, None]);
}

#[test]
fn values_are_compared_as_what_they_are() {
    let threshold = |value| Threshold { value, ..hard(Signal::MemoryAvailable, "1", None) };
    let part = ThresholdValue::Percentage;
    let cases = [
        (amount("123"), amount("123"), true),
        (amount("123"), amount("456"), false),
        (amount("123"), part(0.1), false),
        (part(0.1), part(0.1), true),
        (part(0.2), part(0.1), false),
        (amount("1024"), amount("1Ki"), true),
    ];
    for (a, b, expected) in cases {
        assert_eq!(threshold(a).is_same(&threshold(b)), expected, "{a:?} {b:?}");
        assert_eq!(threshold(b).is_same(&threshold(a)), expected, "{b:?} {a:?}");
    }
}

/// The settings of a node's or images' file system in upstream's table: hard and soft bytes, hard and soft inodes.
type OfOne<'a> = [(&'a str, &'a str); 4];

fn of_one(available: Signal, inodes: Signal, settings: OfOne<'_>) -> Vec<Threshold> {
    let [hard_bytes, soft_bytes, hard_inodes, soft_inodes] = settings;
    vec![
        hard(available, hard_bytes.0, Some(hard_bytes.1)),
        soft(available, soft_bytes.0, Some(soft_bytes.1), 1),
        hard(inodes, hard_inodes.0, Some(hard_inodes.1)),
        soft(inodes, soft_inodes.0, Some(soft_inodes.1), 1),
    ]
}

#[test]
fn writable_layers_have_the_thresholds_of_the_file_system_that_they_are_on() {
    use Filesystems::{DedicatedImages, Single, Split};
    let node: OfOne<'_> = [("100Mi", "1Gi"), ("200Mi", "1Gi"), ("100Mi", "1Gi"), ("200Mi", "2Gi")];
    let image: OfOne<'_> = [("150Mi", "1.5Gi"), ("300Mi", "3Gi"), ("300Mi", "2Gi"), ("150Mi", "2Gi")];
    let own: OfOne<'_> = [("500Mi", "5Gi"), ("500Mi", "5Gi"), ("500Mi", "5Gi"), ("500Mi", "5Gi")];
    let of_node = of_one(Signal::NodeFsAvailable, Signal::NodeFsInodesFree, node);
    let of_image = of_one(Signal::ImageFsAvailable, Signal::ImageFsInodesFree, image);
    let of_containers =
        |settings| of_one(Signal::ContainerFsAvailable, Signal::ContainerFsInodesFree, settings);
    for filesystems in [Single, DedicatedImages, Split] {
        let source = if filesystems == DedicatedImages { image } else { node };
        for set in
            [vec![], of_containers(own), of_containers(own)[..1].to_vec(), of_containers(own)[2..].to_vec()]
        {
            let thresholds = [of_node.clone(), of_image.clone(), set.clone()].concat();
            let expected = [of_node.clone(), of_image.clone(), of_containers(source)].concat();
            assert_eq!(with_container_fs(&thresholds, filesystems), expected, "{filesystems:?} {set:?}");
            assert_eq!(ignored(&thresholds).len(), set.len());
        }
    }
    let none = with_container_fs(&of_containers(own), Single);
    assert_eq!(none, [], "nothing is set for the file system that they are on");
    assert_eq!(
        ignored(&of_containers(own))[..2],
        [
            "found containerfs.available for hard eviction. ignoring",
            "found containerfs.available for soft eviction. ignoring"
        ]
    );
}

#[test]
fn amounts_are_printed_as_go_prints_them() {
    let cases = [
        (amount("100Mi"), 0, "100Mi"),
        (amount("1024Mi"), 0, "1Gi"),
        (amount("1000"), 0, "1k"),
        (amount("1500"), 0, "1500"),
        // Upstream keeps parts in 32 bits.
        (ThresholdValue::Percentage(0.1), 10 << 30, "1073741840"),
        (ThresholdValue::Percentage(0.25), 10 << 30, "2560Mi"),
        (ThresholdValue::Percentage(0.05), 100, "5"),
    ];
    for (value, capacity, expected) in cases {
        assert_eq!(value.print(capacity), expected, "{value:?} of {capacity}");
    }
    assert_eq!(ThresholdValue::Percentage(0.1).amount(1_000_000_007), 100_000_002, "upstream's float");
}

#[test]
fn signals_are_known_by_their_words() {
    for signal in SIGNALS {
        assert_eq!(Signal::parse(signal.as_str()), Some(signal));
    }
    assert_eq!(Signal::parse("memory.Available"), None);
}

#[test]
fn soft_thresholds_below_hard_ones_are_named() {
    let of = |hard: &str, soft: &str| {
        let signal = "memory.available";
        let config = config(&[(signal, hard)], &[(signal, soft)], &[(signal, "1m")], &[]);
        ineffective(&config.thresholds().expect("thresholds"))
    };
    let words = |soft: &str, hard: &str| {
        format!(
            "the soft threshold memory.available<{soft} has no effect: the hard threshold memory.available<{hard} is met \
             before it"
        )
    };
    assert_eq!(of("500Mi", "100Mi"), [words("100Mi", "500Mi")]);
    assert_eq!(of("1Gi", "1024Mi"), [words("1Gi", "1Gi")]);
    assert_eq!(of("10%", "5%"), [words("5%", "10%")]);
    assert_eq!(of("100Mi", "500Mi"), [""; 0]);
    assert_eq!(of("10%", "1Mi"), [""; 0], "that depends on the node");
}
