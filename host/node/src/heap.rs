//! The process's memory: kept as small as what it holds and uses.
//!
//! The C library's allocator gives each thread an arena of its own and returns little of what was freed; and whatever part
//! of the program ran once, such as at the start, stays mapped. For a daemon that sleeps most of the time, and whose bursts
//! come with the node's, that is memory taken from pods.
#![allow(unsafe_code, reason = "these are C functions; each call has its proof")]

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// How often what is free is given back.
const TRIM_INTERVAL: Duration = Duration::from_secs(10);

/// Has all threads share one arena. To be called before threads are started. Does nothing where the C library isn't glibc.
pub fn share_one_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes any two integers, checks them, and locks the allocator's state itself (mallopt(3)).
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
}

/// Gives free memory and the program's own pages back now and then, until it is told to stop. What of the program is used
/// again is mapped again from the kernel's cache, at a microsecond for each 64 KiB; what isn't, the kernel may take for
/// others.
pub async fn trim_regularly(stop: CancellationToken) {
    let mut ticks = tokio::time::interval(TRIM_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {
                trim();
                unmap_program();
            }
        }
    }
}

fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes any number of bytes to keep, touches free memory only, and locks the allocator's state
    // itself (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Unmaps the pages of this program's code and constants, without its libraries'.
fn unmap_program() {
    #[cfg(target_os = "linux")]
    // SAFETY: the callback has the type that is asked for, and is called during this call only (dl_iterate_phdr(3)).
    unsafe {
        libc::dl_iterate_phdr(Some(unmap_object), std::ptr::null_mut())
    };
}

/// Unmaps an object's pages that nobody may write. Ends the iteration: the first object is the program itself.
#[cfg(target_os = "linux")]
unsafe extern "C" fn unmap_object(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader hands out an object that is valid during the callback, with as many headers as it says.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr, std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)))
    };
    // SAFETY: sysconf takes any number (sysconf(3)).
    let Ok(page) = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) else { return 1 };
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        // Pages that another segment shares stay.
        let begin = (base + header.p_vaddr).next_multiple_of(page);
        let end = (base + header.p_vaddr + header.p_filesz) / page * page;
        if begin >= end {
            continue;
        }
        // SAFETY: these are whole pages of a private mapping of the program's file. Nothing ever writes to them, so that
        // whoever reads or runs them next finds the same bytes, from the file (madvise(2)).
        unsafe { libc::madvise(begin as *mut libc::c_void, (end - begin) as usize, libc::MADV_DONTNEED) };
    }
    1
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Resident pages of files, in KiB.
    fn mapped() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).expect("Linux tells");
        line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number")
    }

    #[test]
    fn the_program_runs_on_with_fewer_pages() {
        static WORDS: [u8; 1 << 20] = [7; 1 << 20];
        let sum = |words: &[u8]| words.iter().map(|word| u64::from(*word)).sum::<u64>();
        let whole = sum(std::hint::black_box(&WORDS));
        let before = mapped();
        unmap_program();
        let after = mapped();
        assert!(after + 512 < before, "{before} KiB before, {after} after");
        assert_eq!(sum(std::hint::black_box(&WORDS)), whole, "what was there is there again");
    }
}
