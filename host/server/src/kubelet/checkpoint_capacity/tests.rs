//! Turns, and names of archives.

use super::*;

#[tokio::test]
async fn four_are_saved_at_the_same_time_and_a_bounded_number_waits() {
    let capacity = CheckpointCapacity::default();
    let mut turns = Vec::new();
    for _ in 0..AT_ONCE_MAX {
        turns.push(capacity.turn().await.expect("there is capacity"));
    }
    let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(capacity.turn())).collect();
    for turn in &mut waiting {
        assert!(futures::poll!(turn).is_pending(), "it waits");
    }
    assert!(capacity.turn().await.is_none(), "too many wait");
    turns.pop();
    let turn = waiting.remove(0).await;
    assert!(turn.is_some());
    // One that gives up frees capacity for another one.
    waiting.pop();
    assert!(futures::poll!(Box::pin(capacity.turn())).is_pending());
}

#[test]
fn archives_of_one_second_have_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let given = Arc::default();
    let give = || ArchiveName::give(folder.path(), "checkpoint-a", &given).unwrap();
    let name = |of: &ArchiveName| of.path.file_name().unwrap().to_str().unwrap().to_owned();
    let first = give();
    let second = give();
    assert_eq!(
        (name(&first), name(&second)),
        ("checkpoint-a.tar".to_owned(), "checkpoint-a-2.tar".to_owned())
    );
    std::fs::write(&second.path, "").unwrap();
    drop((first, second));
    // What is there stays; a name that came to nothing is free again.
    let third = give();
    let fourth = give();
    assert_eq!(
        (name(&third), name(&fourth)),
        ("checkpoint-a.tar".to_owned(), "checkpoint-a-3.tar".to_owned())
    );
}
