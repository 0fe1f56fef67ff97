//! Cgroups as kernels show them, and the families of a response.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::*;
use crate::stats::CgroupUsage;
use crate::stats::exposition::Format;
use crate::stats::network::InterfaceUsage;

fn at() -> Timestamp {
    Timestamp::from_second(1_790_000_000).expect("a time")
}

fn files<'a>(all: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| all.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
}

fn version_2() -> CgroupDetails {
    let all = [
        (
            "cpu.stat",
            "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 9\nnr_throttled 3\nthrottled_usec 70\nnr_bursts 2\nburst_usec 8\n",
        ),
        ("cpu.weight", "100\n"),
        ("cpu.max", "50000 100000\n"),
        ("memory.current", "9000\n"),
        (
            "memory.stat",
            "anon 1000\nfile 5000\nfile_mapped 600\ninactive_file 3000\nactive_file 2000\npgfault 70\npgmajfault 7\n",
        ),
        ("memory.max", "max\n"),
        ("memory.min", "10\n"),
        ("memory.swap.current", "400\n"),
        ("memory.swap.max", "500\n"),
        ("memory.peak", "9500\n"),
        ("memory.events", "low 0\noom 2\noom_kill 1\n"),
        (
            "io.stat",
            "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0 cost.usage=5 cost.wait=6\n7:0\nx:y rbytes=1\n",
        ),
        ("cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=12\nfull avg10=0 avg60=0 avg300=0 total=5\n"),
        ("pids.current", "4\n"),
        ("pids.max", "max\n"),
    ];
    CgroupDetails::of_v2(at(), true, None, files(&all))
}

#[test]
fn a_cgroup_of_version_2_is_read_in_full() {
    let details = version_2();
    assert_eq!(details.usage.cpu_nanoseconds, Some(1_500_000));
    let cpu = CpuDetails {
        user: 1_000_000,
        system: 500_000,
        periods: 9,
        throttled_periods: 3,
        throttled: 70_000,
        burst_periods: 2,
        burst: 8000,
    };
    assert_eq!(details.cpu, cpu);
    let memory = MemoryDetails {
        cache: 5000,
        kernel: 0,
        mapped_file: 600,
        max_usage: 9500,
        failures: 0,
        active_file: 2000,
        inactive_file: 3000,
    };
    assert_eq!(details.memory, memory);
    let disk = DiskUsage {
        device: BlockDevice { major: 8, minor: 0 },
        bytes: BTreeMap::from([("Read", 10), ("Write", 20)]),
        operations: BTreeMap::from([("Read", 1), ("Write", 2)]),
        cost: Some([5, 6, 0, 0]),
    };
    assert_eq!(details.disks, [disk]);
    assert_eq!((details.threads, details.threads_max, details.oom_kills), (4, 0, 1));
    let spec = CgroupSpec {
        has_cpu: true,
        cpu_shares: 2597,
        cpu_period: 100_000,
        cpu_quota: 50_000,
        has_memory: true,
        memory: None,
        swap: Some(500),
        reservation: Some(10),
    };
    assert_eq!(details.spec, spec);
}

#[test]
fn a_cgroup_of_version_1_is_read_in_full() {
    let all = [
        ("cpuacct.usage", "1500000\n"),
        ("cpuacct.stat", "user 100\nsystem 50\n"),
        ("cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 70\n"),
        ("cpu.shares", "512\n"),
        ("cpu.cfs_period_us", "100000\n"),
        ("cpu.cfs_quota_us", "-1\n"),
        ("memory.usage_in_bytes", "9000\n"),
        (
            "memory.stat",
            "cache 1\ntotal_cache 5000\ntotal_mapped_file 600\ntotal_active_file 2000\ntotal_inactive_file 3000\n",
        ),
        ("memory.limit_in_bytes", "9223372036854771712\n"),
        ("memory.kmem.usage_in_bytes", "30\n"),
        ("memory.max_usage_in_bytes", "9500\n"),
        ("memory.failcnt", "2\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
        ("blkio.bfq.io_service_bytes_recursive", "Total 0\n"),
        (
            "blkio.throttle.io_service_bytes_recursive",
            "8:0 Read 10\n8:0 Write 20\n8:0 Total 30\n8:0 Other 1\nTotal 30\n",
        ),
        ("blkio.throttle.io_serviced_recursive", "8:0 Read 1\n"),
        ("pids.current", "4\n"),
        ("pids.max", "7\n"),
    ];
    let read = files(&all);
    let details = CgroupDetails::of_v1(at(), None, |controller, file| {
        assert!(file.starts_with(controller), "{file} is of {controller}");
        read(file)
    });
    assert_eq!((details.cpu.user, details.cpu.system), (1_000_000_000, 500_000_000));
    assert_eq!((details.cpu.periods, details.cpu.throttled_periods, details.cpu.throttled), (9, 3, 70));
    let memory = details.memory;
    assert_eq!((memory.cache, memory.mapped_file, memory.kernel), (5000, 600, 30));
    assert_eq!((memory.max_usage, memory.failures, memory.active_file), (9500, 2, 2000));
    let disk = DiskUsage {
        device: BlockDevice { major: 8, minor: 0 },
        bytes: BTreeMap::from([("Read", 10), ("Total", 30), ("Write", 20)]),
        operations: BTreeMap::from([("Read", 1)]),
        cost: None,
    };
    assert_eq!(details.disks, [disk]);
    assert_eq!((details.threads, details.threads_max, details.oom_kills), (4, 7, 3));
    let CgroupSpec { cpu_shares, cpu_period, cpu_quota, .. } = details.spec;
    assert_eq!((cpu_shares, cpu_period, cpu_quota), (512, 100_000, 0));
}

#[test]
fn limits_that_are_known_are_not_read() {
    let spec = CgroupSpec { memory: Some(70), swap: Some(90), has_memory: true, ..CgroupSpec::default() };
    let limits = CgroupLimits { spec, threads_max: 7 };
    let text = |file: &str| match file {
        "memory.usage_in_bytes" | "memory.current" | "memory.swap.current" => Some("5".to_owned()),
        "memory.stat" => Some("total_swap 5\n".to_owned()),
        "cpu.max"
        | "cpu.weight"
        | "cpu.shares"
        | "cpu.cfs_period_us"
        | "cpu.cfs_quota_us"
        | "memory.max"
        | "memory.min"
        | "memory.swap.max"
        | "memory.limit_in_bytes"
        | "memory.memsw.limit_in_bytes"
        | "memory.soft_limit_in_bytes"
        | "pids.max" => panic!("{file} is read"),
        _ => None,
    };
    let found = [
        CgroupDetails::of_v1(at(), Some(limits), |_, file| text(file)),
        CgroupDetails::of_v2(at(), false, Some(limits), text),
    ];
    for details in found {
        assert_eq!(details.limits(), limits);
        assert_eq!(details.usage.memory.and_then(|memory| memory.limit), Some(70));
        assert_eq!(details.usage.swap.and_then(|swap| swap.limit), Some(90));
    }
}

/// Of a cgroup whose processes have done nothing, these files needn't be read.
#[test]
fn what_only_processes_change_is_taken_over() {
    type Read<'a> = &'a dyn Fn(&str, &str) -> Option<String>;
    let of_v1: fn(Read<'_>) -> CgroupDetails = |read| CgroupDetails::of_v1(at(), None, read);
    let of_v2: fn(Read<'_>) -> CgroupDetails =
        |read| CgroupDetails::of_v2(at(), true, None, |file| read("", file));
    for version in [of_v1, of_v2] {
        // All figures of a file are its number, but for those of the activity.
        let text = |number: u64, file: &str| match file {
            "memory.usage_in_bytes" | "cpuacct.usage" | "memory.current" => "5".to_owned(),
            "cpuacct.stat" => format!("user {number}\nsystem {number}\n"),
            "memory.oom_control" | "memory.events" => format!("oom_kill {number}\n"),
            "memory.stat" => format!("total_cache {number}\nfile {number}\n"),
            "cpu.stat" => format!("usage_usec 5\nnr_throttled {number}\n"),
            _ if file.ends_with(".pressure") => format!("some avg10=0.00 total={number}\n"),
            _ => number.to_string(),
        };
        let [before, now] = [1, 2].map(|number| version(&|_, file| Some(text(number, file))));
        let some = |controller: &str, file: &str| {
            let is_read = !CgroupDetails::is_of_processes(controller, file);
            is_read.then(|| text(if file == "cpu.stat" { 1 } else { 2 }, file))
        };
        let taken_over = version(&some).with_processes_of(&before);
        assert_eq!(taken_over.memory.cache, 2);
        assert_eq!((taken_over.threads, taken_over.limits()), (now.threads, now.limits()));
        let MemoryDetails { cache, .. } = before.memory;
        let expected = CgroupDetails {
            memory: MemoryDetails { cache, ..taken_over.memory },
            threads: before.threads,
            threads_max: before.threads_max,
            spec: before.spec,
            usage: CgroupUsage { memory: before.usage.memory, swap: before.usage.swap, ..taken_over.usage },
            ..taken_over
        };
        assert_eq!(expected, before, "all else is as it was");
    }
}

#[test]
fn the_least_and_the_largest_weight_are_the_least_and_the_largest_share() {
    for (weight, shares) in [("1", 2), ("10000", 262_144)] {
        let details = CgroupDetails::of_v2(at(), false, None, files(&[("cpu.weight", weight)]));
        assert_eq!(details.spec.cpu_shares, shares, "{weight}");
    }
}

#[test]
fn a_disk_without_figures_and_a_broken_line_are_left_out() {
    let lines = "   8       0 sda 10 1 80 7 20 2 160 9 3 11 30 0 0 0 0\n   8 1 sda1 x\nnothing\n";
    let found = partitions(lines);
    let sda = Partition {
        name: "sda".to_owned(),
        reads: [10, 1, 80, 7],
        writes: [20, 2, 160, 9],
        in_flight: 3,
        busy: 11,
        weighted: 30,
    };
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(BlockDevice { major: 8, minor: 0 }, sda)]);
}

#[test]
fn cores_are_counted_by_socket() {
    let places = [[0, 0, -1, -1], [0, 0, -1, -1], [1, 0, -1, -1], [0, 1, -1, -1]];
    let topology = Topology { processors: 4, cores: 3, sockets: 2, books: 0, drawers: 0 };
    assert_eq!(Topology::of(&places), topology);
    assert_eq!(Topology::of(&[[0, 0, 5, 6]]).drawers, 1);
}

fn row(id: &str) -> Row {
    Row {
        labels: RowLabels { id: id.to_owned(), ..RowLabels::default() },
        started_at: Some(Timestamp::from_second(100).expect("a time")),
        details: version_2(),
        network: Vec::new(),
        filesystems: Vec::new(),
    }
}

fn scrape(rows: Vec<Row>) -> Arc<Scrape> {
    let devices = BTreeMap::from([(BlockDevice { major: 8, minor: 0 }, "sda".to_owned())]);
    let machine =
        Machine { topology: Some(Topology::of(&[[0, 0, -1, -1]])), memory: Some(5), ..Machine::default() };
    Arc::new(Scrape { at: at(), rows, has_failed: false, devices, machine })
}

fn lines(scrape: &Arc<Scrape>) -> Vec<String> {
    let body: Vec<u8> = chunks(scrape.clone(), Format::Text).flatten().collect();
    String::from_utf8(body).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn figures_have_the_labels_of_their_row_and_the_time_of_their_reading() {
    let mut of_container = row("/kubepods/podu-1/c1");
    of_container.labels = RowLabels {
        container: "app".to_owned(),
        image: "busy\"box".to_owned(),
        name: "c1".to_owned(),
        namespace: "ns".to_owned(),
        pod: "web".to_owned(),
        ..of_container.labels
    };
    let lines = lines(&scrape(vec![row("/"), of_container]));
    let labels =
        r#"container="app",id="/kubepods/podu-1/c1",image="busy\"box",name="c1",namespace="ns",pod="web""#;
    for expected in [
        format!("container_memory_working_set_bytes{{{labels}}} 6000 1790000000000"),
        format!("container_cpu_usage_seconds_total{{{labels},cpu=\"total\"}} 0.0015 1790000000000"),
        format!("container_cpu_cfs_throttled_periods_total{{{labels}}} 3 1790000000000"),
        format!("container_fs_reads_bytes_total{{{labels},device=\"/dev/sda\"}} 10 1790000000000"),
        format!(
            "container_blkio_device_usage_total{{{labels},device=\"/dev/sda\",major=\"8\",minor=\"0\",operation=\"Write\"}} 20 1790000000000"
        ),
        format!("container_pressure_cpu_stalled_seconds_total{{{labels}}} 0.000005 1790000000000"),
        format!("container_memory_swap{{{labels}}} 400 1790000000000"),
        // What a cgroup may use, and when it began, isn't measured.
        format!("container_spec_memory_limit_bytes{{{labels}}} 0"),
        format!("container_spec_cpu_quota{{{labels}}} 50000"),
        format!("container_start_time_seconds{{{labels}}} 100"),
    ] {
        assert!(lines.contains(&expected), "{expected}\nin {lines:#?}");
    }
}

#[test]
fn each_series_and_each_heading_is_there_once() {
    let mut node = row("/");
    let interface =
        |name: &str| InterfaceUsage { name: name.to_owned(), rx_packets: 3, ..InterfaceUsage::default() };
    node.network = vec![interface("eth0"), interface("eth1")];
    let traffic = |name: &str| Some(Partition { name: name.to_owned(), ..Partition::default() });
    let filesystem = |device: &str, traffic| FilesystemUsage {
        device: device.to_owned(),
        traffic,
        ..FilesystemUsage::default()
    };
    // The first one is on the disk itself, of which the cgroup has figures, too.
    node.filesystems = vec![
        filesystem("/dev/sda", traffic("sda")),
        filesystem("/dev/sdb1", traffic("sdb1")),
        filesystem("/run", None),
    ];
    let lines = lines(&scrape(vec![node, row("/kubepods")]));
    let mut seen = BTreeSet::new();
    for line in &lines {
        let series =
            if line.starts_with('#') { line } else { line.rsplit_once('}').map_or(&**line, |(key, _)| key) };
        assert!(seen.insert(series), "{line} is there twice");
    }
    let reads = lines.iter().filter(|line| line.starts_with("container_fs_reads_total{"));
    assert_eq!(reads.count(), 3, "two of the node's devices, one of the other cgroup's");
    let used = lines.iter().filter(|line| line.starts_with("container_fs_usage_bytes{"));
    assert_eq!(used.count(), 3);
}

#[test]
fn a_large_body_comes_in_small_pieces_and_each_family_begins_once() {
    let mut rows: Vec<Row> = (0..2000).map(|number| row(&format!("/kubepods/pod{number}"))).collect();
    // A family that begins late, after a piece is full.
    for row in rows.iter_mut().take(1500) {
        row.started_at = None;
    }
    let scrape = scrape(rows);
    let pieces: Vec<Vec<u8>> = chunks(scrape.clone(), Format::Text).collect();
    let largest = pieces.iter().map(Vec::len).max().unwrap_or_default();
    assert!(pieces.len() > 100 && largest < 40_000, "{} pieces of {largest} bytes at most", pieces.len());
    let lines = lines(&scrape);
    let headings: Vec<&String> = lines.iter().filter(|line| line.starts_with("# HELP ")).collect();
    let different: BTreeSet<_> = headings.iter().collect();
    assert_eq!(headings.len(), different.len(), "{headings:#?}");
    for (family, expected) in [("container_start_time_seconds{", 500), ("container_threads{", 2000)] {
        let at: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with(family)).collect();
        assert_eq!(at.len(), expected, "{family}");
        assert_eq!(at[expected - 1] - at[0], expected - 1, "{family}: one after the other");
        assert!(lines[at[0] - 1].starts_with("# TYPE "), "{family}: {}", lines[at[0] - 1]);
    }
}

/// As upstream has it: the machine's memory and swap, and shares of nothing in version 2.
#[test]
fn the_root_has_the_limits_of_the_machine() {
    let meminfo = "MemTotal: 100 kB\nSwapTotal: 7 kB\n";
    let without = "MemFree: 100 kB\n";
    let (nothing, no_limit) = (None, Some("9223372036854771712\n"));
    for (version, limit, meminfo, expected) in [
        (2, nothing, meminfo, ["0", "0", "102400", "7168", "0"].map(Some)),
        (1, no_limit, meminfo, ["0", "1024", "102400", "7168", "0"].map(Some)),
        (2, nothing, without, [Some("0"), Some("0"), None, None, None]),
    ] {
        let mut row = row("/");
        row.details = match version {
            2 => CgroupDetails::of_v2(at(), false, None, |_| None),
            _ => CgroupDetails::of_v1(at(), None, |_, file| match file {
                "cpu.shares" => Some("1024\n".to_owned()),
                "memory.limit_in_bytes" => limit.map(str::to_owned),
                _ => None,
            }),
        };
        row.details.spec = row.details.spec.of_root(meminfo);
        let lines = lines(&scrape(vec![row]));
        let families = [
            "container_spec_cpu_period{",
            "container_spec_cpu_shares{",
            "container_spec_memory_limit_bytes{",
            "container_spec_memory_swap_limit_bytes{",
            "container_spec_memory_reservation_limit_bytes{",
        ];
        let found = families.map(|family| {
            let line = lines.iter().find(|line| line.starts_with(family))?;
            line.rsplit_once(' ').map(|(_, value)| value)
        });
        assert_eq!(found, expected, "version {version}, {meminfo:?}");
    }
}

#[test]
fn what_is_not_there_has_no_series() {
    let mut row = row("/");
    row.details = CgroupDetails::of_v2(at(), false, None, |_| None);
    row.started_at = None;
    let lines = lines(&scrape(vec![row]));
    for absent in [
        "container_cpu_usage_seconds_total",
        "container_cpu_cfs_periods_total",
        "container_pressure_io_waiting_seconds_total",
        "container_spec_cpu_quota",
        "container_spec_memory_limit_bytes",
        "container_start_time_seconds",
        "container_ulimits_soft",
        "container_network_receive_bytes_total",
        "machine_swap_bytes",
    ] {
        assert!(!lines.iter().any(|line| line.contains(absent)), "{absent}");
    }
    assert!(lines.iter().any(|line| line.starts_with("container_memory_usage_bytes{")));
}

#[test]
fn a_failure_is_a_figure() {
    let failed = Arc::new(Scrape { has_failed: true, ..Scrape::default() });
    let lines = lines(&failed);
    assert!(lines.contains(&"container_scrape_error 1".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"machine_scrape_error 1".to_owned()), "{lines:#?}");
    let lines = self::lines(&scrape(Vec::new()));
    assert!(lines.contains(&"container_scrape_error 0".to_owned()), "{lines:#?}");
    assert!(lines.contains(&r#"machine_cpu_cores{boot_id="",machine_id="",system_uuid=""} 1"#.to_owned()));
}
