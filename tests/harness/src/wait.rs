//! Waits for a state that nothing announces.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often something is checked that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Checks until there is something to see, which it returns; none after this time.
pub async fn poll_until<T, F: Future<Output = Option<T>>>(
    timeout: Duration,
    mut check: impl FnMut() -> F,
) -> Option<T> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(found) = check().await {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_is_returned_and_what_does_not_ends_with_the_time() {
        let (mut checks, begun) = (0, Instant::now());
        let third = poll_until(Duration::from_secs(1), || {
            checks += 1;
            ready((checks == 3).then_some(checks))
        });
        assert_eq!((third.await, begun.elapsed()), (Some(3), 2 * POLL_INTERVAL));
        let begun = Instant::now();
        assert_eq!(poll_until(Duration::from_secs(1), || ready(None::<()>)).await, None);
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }
}
