//! Pieces of a snapshot.

use super::*;

#[test]
fn reads_end_with_the_data_and_with_the_most_that_one_gives() {
    let small = Snapshot::new(b"0123456789".to_vec());
    let cases: [(u64, u64, &[u8]); 8] = [
        (0, 4, b"0123"),
        (8, 4, b"89"),
        (0, u64::MAX, b"0123456789"),
        (10, 1, b""),
        (11, 1, b""),
        (u64::MAX, u64::MAX, b""),
        (3, 0, b""),
        (9, 1, b"9"),
    ];
    for (offset, length, expected) in cases {
        assert_eq!(small.read(offset, length), expected, "{offset} {length}");
    }
    let large = Snapshot::new(vec![7; READ_BYTES_MAX + 2]);
    assert_eq!(large.read(1, u64::MAX).len(), READ_BYTES_MAX);
    assert_eq!(large.read(READ_BYTES_MAX as u64, u64::MAX), [7, 7]);
}

#[test]
fn a_problem_is_reported_when_it_is_another() {
    let origin = DataOrigin::new("/a".to_owned());
    let problem = Some("gone".to_owned());
    assert!(!origin.set_problem(None) && origin.set_problem(problem.clone()));
    assert!(!origin.set_problem(problem.clone()) && origin.problem() == problem);
    assert!(origin.set_problem(None));
}

#[test]
fn data_age_from_when_they_were_last_known_to_be_the_newest() {
    let seconds = Duration::from_secs;
    let began = Instant::now();
    let mut data = Data::given("list", Snapshot::new(Vec::new()));
    assert_eq!(data.origin.age(began), None, "no one looks for newer ones");
    data.max_age = Some(seconds(60));
    assert!(!data.is_too_old(began + seconds(3600)));
    data.origin.set_age(Some(seconds(50)), began);
    assert_eq!(data.origin.age(began + seconds(10)), Some(seconds(60)));
    assert!(!data.is_too_old(began + seconds(10)) && data.is_too_old(began + seconds(11)));
    data.origin.set_age(Some(Duration::ZERO), began + seconds(11));
    assert!(!data.is_too_old(began + seconds(71)) && data.is_too_old(began + seconds(72)));
    data.max_age = None;
    assert!(!data.is_too_old(began + seconds(72)), "without a bound they serve for ever");
}
