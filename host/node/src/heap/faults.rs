//! Page faults that map one page, not the sixteen around it.
//!
//! The kernel maps up to 64 KiB of a file around each page of it that is touched, if they are cached. Of a program whose hot
//! functions are strewn over tens of megabytes most of what is mapped is then never used. Areas that are watched by a
//! userfaultfd are left out of that; the mode that reports writes without stopping anybody (Linux 6.7) reports nothing of what
//! nobody writes to, and costs nothing else.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// `UFFD_API`.
const API: u64 = 0xaa;
/// `UFFD_FEATURE_WP_ASYNC`.
const FEATURE_WP_ASYNC: u64 = 1 << 15;
/// `UFFD_USER_MODE_ONLY`: what an unprivileged process may have.
const USER_MODE_ONLY: libc::c_int = 1;
/// `UFFDIO_REGISTER_MODE_WP`.
const REGISTER_MODE_WP: u64 = 1 << 1;
/// `UFFDIO_API`: `_IOWR(0xaa, 0x3f, struct uffdio_api)`.
const IOCTL_API: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
/// `UFFDIO_REGISTER`: `_IOWR(0xaa, 0x00, struct uffdio_register)`.
const IOCTL_REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// Areas whose pages are mapped one by one, as long as this is kept.
#[derive(Debug)]
pub(super) struct SinglePages(OwnedFd);

impl SinglePages {
    /// None so far. An error says that this kernel can't, or that this process may not.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: the call takes flags and gives a descriptor that nobody else has, or an error (userfaultfd(2)).
        let watch = unsafe {
            let made = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY);
            let descriptor = libc::c_int::try_from(made).map_err(io::Error::other)?;
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        let mut api = Api { api: API, features: FEATURE_WP_ASYNC, ioctls: 0 };
        // SAFETY: the request reads and writes one `uffdio_api`, which this is.
        done(unsafe { libc::ioctl(watch.as_raw_fd(), IOCTL_API, &raw mut api) })?;
        Ok(Self(watch))
    }

    /// Adds whole pages of mappings to them.
    pub(super) fn add(&self, pages: Range<u64>) -> io::Result<()> {
        let len = pages.end.saturating_sub(pages.start);
        let mut register = Register { start: pages.start, len, mode: REGISTER_MODE_WP, ioctls: 0 };
        // SAFETY: the request reads and writes one `uffdio_register`, which this is. In this mode it changes nothing of what the
        // pages hold, nor who may use them how; it fails where no mappings are.
        done(unsafe { libc::ioctl(self.0.as_raw_fd(), IOCTL_REGISTER, &raw mut register) })
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
