//! Files of cgroups as kernels write them.

use super::*;

fn at() -> Timestamp {
    Timestamp::from_second(1_790_000_000).expect("a time")
}

fn files<'a>(all: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| all.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
}

const STAT_V2: &str =
    "anon 1000\nfile 5000\ninactive_file 3000\nactive_file 2000\npgfault 70\npgmajfault 7\n";

#[test]
fn a_cgroup_of_version_2_is_read() {
    let all = [
        ("cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"),
        ("memory.current", "9000\n"),
        ("memory.stat", STAT_V2),
        ("memory.max", "20000\n"),
        ("memory.swap.current", "400\n"),
        ("memory.swap.max", "max\n"),
        (
            "io.pressure",
            "some avg10=1.50 avg60=0.25 avg300=0.00 total=12\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=5\n",
        ),
    ];
    let usage = CgroupUsage::of_v2(at(), true, files(&all));
    assert_eq!(usage.cpu_nanoseconds, Some(1_500_000));
    let memory = MemoryUsage {
        usage: Some(9000),
        working_set: 6000,
        rss: Some(1000),
        page_faults: Some(70),
        major_page_faults: Some(7),
        limit: Some(20_000),
    };
    assert_eq!(usage.memory, Some(memory));
    assert_eq!(usage.swap, Some(SwapUsage { usage: 400, limit: None }));
    let some = Stall { total_nanoseconds: 12_000, avg10: 1.5, avg60: 0.25, avg300: 0.0 };
    let full = Stall { total_nanoseconds: 5000, avg10: 0.5, ..Stall::default() };
    assert_eq!(usage.pressure, PressureUsage { io: Some(Stalls { full, some }), ..PressureUsage::default() });
    assert_eq!(CgroupUsage::of_v2(at(), false, files(&all)).pressure, PressureUsage::default());
}

#[test]
fn a_cgroup_of_version_1_is_read() {
    let all = [
        ("cpuacct.usage", "1500000\n"),
        ("memory.usage_in_bytes", "9000\n"),
        (
            "memory.stat",
            "cache 1\nrss 2\ntotal_rss 1000\ntotal_inactive_file 3000\ntotal_pgfault 70\ntotal_pgmajfault 7\ntotal_swap 400\n",
        ),
        ("memory.limit_in_bytes", "9223372036854771712\n"),
        ("memory.memsw.limit_in_bytes", "9500\n"),
    ];
    let read = files(&all);
    let usage = CgroupUsage::of_v1(at(), |controller, file| {
        assert!(file.starts_with(controller), "{file} is of {controller}");
        read(file)
    });
    assert_eq!(usage.cpu_nanoseconds, Some(1_500_000));
    let memory = usage.memory.expect("it was read");
    assert_eq!((memory.working_set, memory.rss, memory.limit), (6000, Some(1000), None));
    assert_eq!((memory.page_faults, memory.major_page_faults), (Some(70), Some(7)));
    assert_eq!(usage.swap, Some(SwapUsage { usage: 400, limit: Some(9500) }));
}

#[test]
fn the_working_set_is_never_negative() {
    let all = [("memory.current", "10"), ("memory.stat", "inactive_file 11")];
    let usage = CgroupUsage::of_v2(at(), false, files(&all));
    assert_eq!(usage.memory.map(|memory| memory.working_set), Some(0));
}

#[test]
fn the_root_is_the_whole_machine() {
    let meminfo = "MemTotal:       64 kB\nMemFree:  1 kB\nSwapTotal:  10 kB\nSwapFree:  4 kB\n";
    let read = CgroupUsage::of_v2(at(), false, files(&[("cpu.stat", "usage_usec 3")]));
    let usage = read.of_root(meminfo, Some(STAT_V2));
    let memory = usage.memory.expect("of the statistics");
    assert_eq!((memory.usage, memory.working_set, memory.limit), (Some(6000), 3000, Some(65_536)));
    assert_eq!(usage.swap, Some(SwapUsage { usage: 6144, limit: Some(10_240) }));
    assert_eq!(usage.cpu_nanoseconds, Some(3000));
}

#[test]
fn what_the_kernel_does_not_say_is_unknown() {
    let usage = CgroupUsage::of_v2(at(), true, |_| None);
    assert_eq!((usage.cpu_nanoseconds, usage.memory, usage.swap), (None, None, None));
    let broken = [("cpu.stat", "usage_usec x"), ("memory.current", ""), ("cpu.pressure", "x\n")];
    let usage = CgroupUsage::of_v2(at(), true, files(&broken));
    assert_eq!((usage.cpu_nanoseconds, usage.memory), (None, None));
    assert_eq!(usage.pressure.cpu, Some(Stalls::default()));
}

#[test]
fn lines_of_meminfo_are_bytes() {
    let meminfo = "MemTotal:       16307984 kB\nMemFree:  1 kB\nSwapTotal:      2097148 kB\nOdd: 7\n";
    let cases = [
        ("MemTotal:", Some(16_307_984 << 10)),
        ("SwapTotal:", Some(2_097_148 << 10)),
        ("MemAvailable:", None),
        ("Odd:", None),
    ];
    for (name, expected) in cases {
        assert_eq!(meminfo_bytes(meminfo, name), expected, "{name}");
    }
    assert_eq!(meminfo_bytes("MemTotal: many kB\n", "MemTotal:"), None);
    assert_eq!(meminfo_bytes("MemTotal: 18446744073709551615 kB\n", "MemTotal:"), None);
}

#[test]
fn activity_is_what_the_usage_was_read_with() {
    let all = [("cpu.stat", "usage_usec 3\n"), ("memory.current", "500"), ("memory.stat", "anon 5\n")];
    let expected = Activity { cpu_nanoseconds: Some(3000), memory: Some(500) };
    assert_eq!(Activity::of_v2(files(&all)), expected);
    assert_eq!(CgroupUsage::of_v2(at(), true, files(&all)).activity(), expected);
    let of_v1 = |controller: &str, file: &str| match (controller, file) {
        ("cpuacct", "cpuacct.usage") => Some("3000\n".to_owned()),
        ("memory", "memory.usage_in_bytes") => Some("500\n".to_owned()),
        _ => None,
    };
    assert_eq!(Activity::of_v1(of_v1), expected);
    assert_eq!(CgroupUsage::of_v1(at(), of_v1).activity(), expected);
    // The root of version 2 has no figure of memory.
    let root = [("cpu.stat", "usage_usec 3\n")];
    assert_eq!(Activity::of_v2(files(&root)), CgroupUsage::of_v2(at(), true, files(&root)).activity());
}
