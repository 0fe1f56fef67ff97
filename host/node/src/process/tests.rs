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

#[test]
fn figures_are_the_kernels() {
    let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                  Max open files            1024                 524288               files     \n\
                  Max address space         unlimited            unlimited            bytes     \n";
    let figures = ProcessFigures::parse(STAT, limits, 100, 4096);
    let expected = ProcessFigures {
        cpu_seconds: Some(3.0),
        virtual_bytes: Some(104_857_600),
        resident_bytes: Some(2560 * 4096),
        open_files: None,
        files_max: Some(1024),
        virtual_bytes_max: Some(f64::INFINITY),
    };
    assert_eq!(figures, expected);
    let limited = limits.replace("space         unlimited ", "space         1000000   ");
    assert_eq!(ProcessFigures::parse(STAT, &limited, 100, 4096).virtual_bytes_max, Some(1e6));
    assert_eq!(ProcessFigures::parse("", "", 0, 0), ProcessFigures::default());
}

#[test]
fn this_process_has_figures() {
    let text = witlet_core::stats::exposition::written(|to| ProcessMetrics.write(to)).expect("it is small");
    for name in [
        "process_cpu_seconds_total",
        "process_max_fds",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
        "process_virtual_memory_max_bytes",
    ] {
        assert!(text.contains(&format!("\n{name} ")), "{name} isn't in:\n{text}");
    }
    let open = text.lines().find_map(|line| line.strip_prefix("process_open_fds ")).expect("it is there");
    assert!(open.parse::<f64>().expect("a number") >= 1.0, "{open}");
}
