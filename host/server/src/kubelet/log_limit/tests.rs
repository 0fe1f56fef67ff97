//! How often a refusal is logged.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_unauthenticated_clients_cause_is_logged_now_and_then() {
    let log_limit = LogLimit::default();
    let mut logged = Vec::new();
    for _ in 0..3 {
        logged.extend((0..1000).filter_map(|_| log_limit.next()));
        tokio::time::sleep(APART).await;
    }
    assert_eq!(logged, [0, 999, 999]);
}
