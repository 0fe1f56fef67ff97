//! How spans are sent: how many wait, how often, and what is tried again when.

use std::time::Duration;

use crate::container::backoff::BackoffPolicy;

#[cfg(test)]
mod tests;

/// Spans that wait at most; what comes then is dropped (upstream: `DefaultMaxQueueSize`).
pub const QUEUE_MAX: usize = 2048;
/// Spans that are sent at once (upstream: `DefaultMaxExportBatchSize`).
pub const BATCH_MAX: usize = 512;
/// Bytes of texts in a batch, but for the last span's: with ids and names it stays below the 4 MiB that gRPC takes at once.
pub const BATCH_BYTES_MAX: usize = 2 << 20;
/// How long a span waits for others to be sent with (upstream: `DefaultScheduleDelay`).
pub const BATCH_PERIOD: Duration = Duration::from_secs(5);
/// How long one try may take (upstream's default of OTLP).
pub const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// A batch that couldn't be sent for so long is dropped (upstream: `MaxElapsedTime`).
pub const BATCH_AGE_MAX: Duration = Duration::from_mins(1);
/// How long all that still waits may take when the agent ends.
pub const FLUSH_MAX: Duration = Duration::from_secs(3);

/// The wait after the first failure, and the longest one.
const DELAY_MIN: Duration = Duration::from_secs(1);
const DELAY_MAX: Duration = Duration::from_secs(30);

/// How long the collector is left alone after so many failures in a row, at least one. `chance` in `[0, 1)` makes it up to half longer.
pub fn delay(failures: u32, chance: f64) -> Duration {
    let policy = BackoffPolicy { initial: DELAY_MIN, max: DELAY_MAX };
    policy.after(failures).mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
}

/// Whether a batch may be sent again after this code of gRPC's (upstream: `retryableGRPCStatus`). What is exhausted isn't asked
/// again, unless the collector says when, which isn't checked here.
pub fn may_retry(grpc_code: i32) -> bool {
    const CANCELLED: i32 = 1;
    const DEADLINE_EXCEEDED: i32 = 4;
    const ABORTED: i32 = 10;
    const OUT_OF_RANGE: i32 = 11;
    const UNAVAILABLE: i32 = 14;
    const DATA_LOSS: i32 = 15;
    matches!(grpc_code, CANCELLED | DEADLINE_EXCEEDED | ABORTED | OUT_OF_RANGE | UNAVAILABLE | DATA_LOSS)
}
