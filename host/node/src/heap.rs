//! The process's memory: kept as small as what it holds and uses.
//!
//! The C library's allocator gives each thread an arena of its own and returns little of what was freed; and whatever part
//! of the program ran once, such as at the start, stays mapped. For a daemon that sleeps most of the time, and whose bursts
//! come with the node's, that is memory taken from pods.
#![allow(unsafe_code, reason = "these are C functions; each call has its proof")]

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use faults::SinglePages;

mod faults;

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
/// again is mapped again from the kernel's cache, at a microsecond for each page; what isn't, the kernel may take for others.
pub async fn trim_regularly(stop: CancellationToken) {
    let program = Program::of_this_process();
    let mut ticks = tokio::time::interval(TRIM_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {
                trim();
                program.unmap();
            }
        }
    }
}

/// From now on has code in this range mapped page by page, as far as it is used, where the kernel can. The range may be gone
/// meanwhile, or be of something else: that is harmless.
pub fn map_singly(code: Range<*const u8>) {
    let Some(page) = page_bytes() else { return };
    let (begin, end) = (code.start.addr() as u64, code.end.addr() as u64);
    map_pages_singly(begin / page * page..end.next_multiple_of(page));
}

fn map_pages_singly(pages: Range<u64>) {
    static AREAS: OnceLock<Option<SinglePages>> = OnceLock::new();
    let areas = AREAS.get_or_init(|| {
        let areas = SinglePages::new();
        if let Err(error) = &areas {
            tracing::debug!(%error, "code is mapped sixteen pages at a time");
        }
        areas.ok()
    });
    if let Some(Err(error)) = areas.as_ref().map(|areas| areas.add(pages)) {
        tracing::debug!(%error, "some code is mapped sixteen pages at a time");
    }
}

/// Bytes of a page.
fn page_bytes() -> Option<u64> {
    // SAFETY: sysconf takes any number (sysconf(3)).
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
}

fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes any number of bytes to keep, touches free memory only, and locks the allocator's state
    // itself (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0)
    };
}

/// The pages of this program's code and constants, without its libraries'.
struct Program {
    /// Whole pages that nobody may write, as addresses.
    pages: Vec<Range<u64>>,
}

impl Program {
    fn of_this_process() -> Self {
        let mut pages = Vec::new();
        #[cfg(target_os = "linux")]
        // SAFETY: the callback has the type that is asked for, and is called during this call only, with the list that it
        // takes its data for (dl_iterate_phdr(3)).
        unsafe {
            libc::dl_iterate_phdr(Some(read_only_pages), (&raw mut pages).cast())
        };
        pages.iter().cloned().for_each(map_pages_singly);
        Self { pages }
    }

    fn unmap(&self) {
        for pages in &self.pages {
            let (begin, length) = (pages.start as *mut libc::c_void, (pages.end - pages.start) as usize);
            // SAFETY: these are whole pages of private mappings of the program's file, which stay as long as the process.
            // Nothing ever writes to them, so that whoever reads or runs them next finds the same bytes, from the file
            // (madvise(2)).
            unsafe { libc::madvise(begin, length, libc::MADV_DONTNEED) };
        }
    }
}

/// Notes an object's pages that nobody may write in a `Vec<Range<u64>>`. Ends the iteration: the first object is the program
/// itself.
#[cfg(target_os = "linux")]
unsafe extern "C" fn read_only_pages(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    found: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader hands out an object that is valid during the callback, with as many headers as it says; the list is
    // the caller's, who waits.
    let (base, headers, found) = unsafe {
        let object = &*object;
        let headers = std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum));
        (object.dlpi_addr, headers, &mut *found.cast::<Vec<Range<u64>>>())
    };
    let Some(page) = page_bytes() else { return 1 };
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        // Pages that another segment shares stay.
        let begin = (base + header.p_vaddr).next_multiple_of(page);
        let end = (base + header.p_vaddr + header.p_filesz) / page * page;
        if begin < end {
            found.push(begin..end);
        }
    }
    1
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Tests that unmap the program, one at a time.
    static UNMAPS: Mutex<()> = Mutex::new(());

    /// How many of these words' pages are mapped, as the kernel lists them, whatever the rest of the process does (proc(5)).
    fn mapped(words: &[u8]) -> usize {
        let page = usize::try_from(page_bytes().expect("Linux tells")).expect("it is small");
        let pages = words.as_ptr_range();
        let (begin, end) = (pages.start.addr().div_ceil(page), pages.end.addr() / page);
        let mut entries = vec![0; (end - begin) * 8];
        let list = File::open("/proc/self/pagemap").expect("Linux lists them");
        list.read_exact_at(&mut entries, begin as u64 * 8).expect("each has eight bytes");
        // Little-endian, and its highest bit says that the page is present.
        entries.iter().skip(7).step_by(8).filter(|byte| **byte & 0x80 != 0).count()
    }

    #[test]
    fn the_program_runs_on_with_fewer_pages() {
        static WORDS: [u8; 1 << 20] = [7; 1 << 20];
        let _alone = UNMAPS.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |words: &[u8]| words.iter().map(|word| u64::from(*word)).sum::<u64>();
        let whole = sum(std::hint::black_box(&WORDS));
        let before = mapped(&WORDS);
        Program::of_this_process().unmap();
        let after = mapped(&WORDS);
        assert!(after < before / 2, "{before} pages before, {after} after");
        assert_eq!(sum(std::hint::black_box(&WORDS)), whole, "what was there is there again");
    }

    #[test]
    fn what_is_touched_is_mapped_alone() {
        static WORDS: [u8; 16 << 20] = [7; 16 << 20];
        let _alone = UNMAPS.lock().unwrap_or_else(PoisonError::into_inner);
        let Err(error) = SinglePages::new() else {
            Program::of_this_process().unmap();
            // One in each 64 KiB: mapped with its neighbours it would be all of them.
            let sum: u64 =
                std::hint::black_box(&WORDS).iter().step_by(64 << 10).map(|word| u64::from(*word)).sum();
            assert_eq!(sum, 7 * 256);
            let mapped = mapped(&WORDS);
            assert!((1..1024).contains(&mapped), "{mapped} of 4096 pages, and 256 were touched");
            return;
        };
        let known = [libc::ENOSYS, libc::EPERM, libc::EINVAL];
        assert!(error.raw_os_error().is_some_and(|code| known.contains(&code)), "{error}");
    }
}
