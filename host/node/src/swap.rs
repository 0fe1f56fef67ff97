//! Swap space, and volumes in memory that must not get into it.

use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, fsconfig_set_flag, fsopen};

/// Whether there is swap space (upstream: `IsSwapOn`).
pub fn has_swap() -> bool {
    has_swap_in(Path::new("/proc"))
}

/// `/proc/swaps` has a line for each device, below its head. A kernel without swap has no such file.
pub(crate) fn has_swap_in(proc: &Path) -> bool {
    let swaps = fs::read_to_string(proc.join("swaps")).unwrap_or_default();
    swaps.lines().skip(1).any(|line| !line.trim().is_empty())
}

/// Whether the kernel can keep a tmpfs out of swap (`noswap`, since 6.4). Nothing is mounted to find out. Where the agent may not
/// mount at all it has no volumes in memory either.
pub(crate) fn tmpfs_avoids_swap() -> bool {
    let tmpfs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC);
    let configured = tmpfs.and_then(|tmpfs| fsconfig_set_flag(&tmpfs, "noswap"));
    !matches!(configured, Err(Errno::INVAL | Errno::NOSYS))
}

#[cfg(test)]
mod tests {
    //! What the kernel's list says.

    use super::*;

    #[test]
    fn swap_is_what_is_below_the_head() {
        const HEAD: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_swap_in(folder.path()), "there is no list");
        for (swaps, expected) in [
            (String::new(), false),
            (HEAD.to_owned(), false),
            (format!("{HEAD}\n"), false),
            (format!("{HEAD}/dev/sda2  partition\t1048572\t\t0\t\t-2\n"), true),
        ] {
            fs::write(folder.path().join("swaps"), &swaps).unwrap();
            assert_eq!(has_swap_in(folder.path()), expected, "{swaps:?}");
        }
    }
}
