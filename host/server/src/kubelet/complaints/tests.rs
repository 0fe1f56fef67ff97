//! How often a complaint is logged.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_strangers_cause_is_logged_now_and_then() {
    let complaints = Complaints::default();
    let mut logged = Vec::new();
    for _ in 0..3 {
        logged.extend((0..1000).filter_map(|_| complaints.next()));
        tokio::time::sleep(APART).await;
    }
    assert_eq!(logged, [0, 999, 999]);
}
