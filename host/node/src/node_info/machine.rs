//! The machine's own words: `/proc`, `/sys`, `/etc` and the kernel, read and parsed.

use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

use witlet_core::stats::cgroup_usage::meminfo_bytes;

use super::error::NodeError;

#[cfg(test)]
mod tests;

/// Bytes of a kernel file that are read: all of them are far smaller.
const KERNEL_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Facts as the machine gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) hostname: String,
    pub(super) cpus: u32,
    pub(super) memory_kib: u64,
    /// Bytes of swap space.
    pub(super) swap_bytes: u64,
    pub(super) storage: Storage,
    pub(super) kernel: String,
    /// As Kubernetes names it.
    pub(super) architecture: &'static str,
    pub(super) os_image: String,
    pub(super) machine_id: String,
    pub(super) boot_id: String,
    /// The firmware's id of the machine; the machine's own where it has none or it may not be read.
    pub(super) system_uuid: String,
    /// Memory that is set aside as huge pages: bytes by the size of a page in KiB.
    pub(super) huge_pages: Vec<(u64, u64)>,
    /// `2`, `1` or `none`.
    pub(super) cgroup_version: &'static str,
    /// Whether profiles are enforced.
    pub(super) has_apparmor: bool,
    /// At least one.
    pub(super) addresses: Vec<IpAddr>,
}

/// One file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) bytes: u64,
    /// For users other than root.
    pub(super) bytes_available: u64,
    /// Zero where there is no fixed number of them.
    pub(super) inodes: u64,
    pub(super) inodes_free: u64,
}

impl Machine {
    pub(super) fn read(root: &Path) -> Result<Self, NodeError> {
        let meminfo_path = Path::new("/proc/meminfo");
        let meminfo = read(meminfo_path)?;
        let online = Path::new("/sys/devices/system/cpu/online");
        let uname = rustix::system::uname();
        let text = |bytes: &std::ffi::CStr| bytes.to_string_lossy().into_owned();
        let machine_id = optional("/etc/machine-id");
        let firmware = optional("/sys/class/dmi/id/product_uuid");
        Ok(Self {
            hostname: text(uname.nodename()),
            cpus: online_cpus(&read(online)?).ok_or_else(|| content(online, "which CPUs are online"))?,
            memory_kib: meminfo_bytes(&meminfo, "MemTotal:")
                .ok_or_else(|| content(meminfo_path, "MemTotal"))?
                / 1024,
            // A kernel without swap may leave the line out.
            swap_bytes: meminfo_bytes(&meminfo, "SwapTotal:").unwrap_or(0),
            storage: storage(root)?,
            kernel: text(uname.release()),
            architecture: architecture(std::env::consts::ARCH),
            os_image: read(Path::new("/etc/os-release"))
                .ok()
                .and_then(|text| pretty_name(&text))
                .unwrap_or_else(|| "Linux".to_owned()),
            system_uuid: if firmware.is_empty() { machine_id.clone() } else { firmware },
            machine_id,
            huge_pages: huge_pages(Path::new("/sys/kernel/mm/hugepages")),
            boot_id: optional("/proc/sys/kernel/random/boot_id"),
            cgroup_version: cgroup_version(Path::new("/sys/fs/cgroup")),
            has_apparmor: has_apparmor(
                Path::new("/sys/kernel/security/apparmor"),
                Path::new("/sys/module/apparmor/parameters/enabled"),
            ),
            addresses: addresses(),
        })
    }
}

/// Whether the kernel counts swap by cgroup: version 2 does where the controller is on, seen below the root (upstream:
/// `checkSwapControllerAvailability`).
pub fn has_swap_controller() -> bool {
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    counts_swap(Path::new("/sys/fs/cgroup"), &own)
}

/// `own` is the content of `/proc/self/cgroup`.
fn counts_swap(mount: &Path, own: &str) -> bool {
    if cgroup_version(mount) != "2" {
        return mount.join("memory/memory.memsw.limit_in_bytes").exists();
    }
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
    own.is_some_and(|own| mount.join(own.trim_end()).join("memory.swap.max").exists())
}

fn content(path: &Path, what: &'static str) -> NodeError {
    NodeError::Content { path: path.to_owned(), what }
}

fn read(path: &Path) -> Result<String, NodeError> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(KERNEL_FILE_BYTES_MAX).read_to_string(&mut text))
        .map_err(|cause| NodeError::Read { path: path.to_owned(), cause })?;
    Ok(text)
}

/// Containers and small images often lack these.
fn optional(path: &str) -> String {
    read(Path::new(path)).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Folders such as `hugepages-2048kB` have the number of pages; the sizes in order.
fn huge_pages(folder: &Path) -> Vec<(u64, u64)> {
    let size = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let count: u64 = read(&entry.path().join("nr_hugepages")).ok()?.trim().parse().ok()?;
        Some((kib, kib.checked_mul(1024)?.checked_mul(count)?))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<(u64, u64)> = entries.filter_map(|entry| size(entry.ok()?)).collect();
    all.sort_unstable();
    all
}

/// `0-3,8,10-11` is seven CPUs.
fn online_cpus(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0_u32, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// Whether the kernel's module is on, and its files are there for the runtime (as runc checks it).
fn has_apparmor(folder: &Path, enabled: &Path) -> bool {
    folder.exists() && read(enabled).is_ok_and(|word| word.starts_with('Y'))
}

/// Of the nearest folder that exists: the agent's own may not have been made yet.
fn storage(root: &Path) -> Result<Storage, NodeError> {
    let existing = root.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let stats = rustix::fs::statvfs(existing)
        .map_err(|errno| NodeError::Read { path: PathBuf::from(existing), cause: errno.into() })?;
    Ok(Storage {
        bytes: stats.f_blocks.saturating_mul(stats.f_frsize),
        bytes_available: stats.f_bavail.saturating_mul(stats.f_frsize),
        inodes: stats.f_files,
        inodes_free: stats.f_favail,
    })
}

/// The distribution's name for people (os-release(5)).
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let plain = value.trim_matches(['"', '\'']);
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// Kubernetes takes Go's names.
fn architecture(rust: &'static str) -> &'static str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        same => same,
    }
}

/// Version 2 has one tree with this file at its root; hybrid set-ups run on version 1.
fn cgroup_version(mount: &Path) -> &'static str {
    if mount.join("cgroup.controllers").exists() {
        "2"
    } else if mount.join("memory").exists() || mount.join("cpu").exists() {
        "1"
    } else {
        "none"
    }
}

/// The addresses that the host reaches the world from, or loopback if there is no way out. Connecting a datagram socket
/// asks the kernel for its route and sends nothing; the targets are addresses for documentation (RFC 5737, RFC 3849).
fn addresses() -> Vec<IpAddr> {
    let source = |local: &str, target: &str| {
        let socket = UdpSocket::bind(local).ok()?;
        socket.connect(target).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let found: Vec<IpAddr> = [source("0.0.0.0:0", "192.0.2.1:9"), source("[::]:0", "[2001:db8::1]:9")]
        .into_iter()
        .flatten()
        .filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
        .collect();
    if found.is_empty() { vec![IpAddr::V4(Ipv4Addr::LOCALHOST)] } else { found }
}
