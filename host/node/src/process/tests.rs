//! Lines of `/proc`.

use super::*;

/// A program may give itself any name.
const STAT: &str = "4021 (a ) b (c) S 1 4021 4021 0 -1 4194560 9001 0 3 0 250 50 0 0 20 0 9 0 12345 104857600 2560 18446744073709551615";
const MACHINE: &str = "cpu  1 2 3 4\nctxt 9\nbtime 1790000000\nprocesses 5\n";

#[test]
fn the_start_is_counted_from_the_machines() {
    let cases = [
        (STAT, MACHINE, 100, Some("2026-09-21T14:15:23.45Z")),
        (STAT, "ctxt 9\n", 100, None),
        ("", MACHINE, 100, None),
        ("4021 (a", MACHINE, 100, None),
        (STAT, MACHINE, 0, None),
        (&STAT.replace(" 12345 ", " 18446744073709551615 "), MACHINE, 100, None),
    ];
    for (process, machine, ticks, expected) in cases {
        let expected = expected.map(|at: &str| at.parse::<Timestamp>().unwrap());
        assert_eq!(started_at(process, machine, ticks), expected, "{process} {machine}");
    }
}

#[test]
fn this_process_has_a_start() {
    let started = process_started_at().unwrap();
    assert!(started > Timestamp::from_second(1_600_000_000).unwrap(), "{started}");
}
