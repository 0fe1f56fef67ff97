//! A wall clock that is ahead of the machine's: for trying a plugin out at another time.

use std::time::Duration;

use wasmtime_wasi::clocks::{WasiClocksCtx, wall_clock};
use wasmtime_wasi::{HostWallClock, WasiCtxBuilder};

/// The machine's clocks, with the wall clock so much ahead.
pub(crate) fn clocks(ahead: Duration) -> WasiClocksCtx {
    if ahead.is_zero() {
        return WasiClocksCtx::default();
    }
    // The only way to a wall clock of one's own leads through a whole context.
    let mut wasi = WasiCtxBuilder::new().wall_clock(OffsetClock { of: wall_clock(), by: ahead }).build();
    std::mem::take(wasi.clocks())
}

struct OffsetClock {
    of: Box<dyn HostWallClock + Send>,
    by: Duration,
}

impl HostWallClock for OffsetClock {
    fn resolution(&self) -> Duration {
        self.of.resolution()
    }

    fn now(&self) -> Duration {
        self.of.now().saturating_add(self.by)
    }
}
