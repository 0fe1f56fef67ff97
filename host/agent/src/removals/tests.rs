//! Who waits for whose removal.

use std::time::Duration;

use super::*;

async fn may_start(removals: &Removals, uid: &PodUid) -> bool {
    tokio::time::timeout(Duration::from_secs(60), removals.none_of(uid)).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_removal_of_its_own_folders_only() {
    let removals = Arc::new(Removals::default());
    let (old, other) = (PodUid::from("old"), PodUid::from("other"));
    let removal = removals.begin(&old).expect("the first one");
    assert!(removals.begin(&old).is_none(), "one at a time");
    assert!(!may_start(&removals, &old).await);
    assert!(may_start(&removals, &other).await);
    let waits = may_start(&removals, &old);
    let ends = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        drop(removal);
    };
    assert!(tokio::join!(waits, ends).0, "it goes on once the removal has ended");
    assert!(removals.begin(&old).is_some());
}
