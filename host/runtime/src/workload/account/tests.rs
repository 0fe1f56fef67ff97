//! Cases for accounts.

use proptest::prelude::*;

use super::*;

#[test]
fn the_limit_holds_for_all_instances_together() {
    let account = Account::new(100);
    assert_eq!(account.take(60), Ok(()));
    assert_eq!(account.take(41), Err(MemoryExceeded { limit_bytes: 100 }));
    assert_eq!(account.take(40), Ok(()));
    account.give_back(60);
    assert_eq!((account.memory_bytes(), account.take(60)), (40, Ok(())));
}

#[test]
fn a_limit_is_not_set_below_what_is_in_use() {
    let account = Account::new(100);
    account.take(50).expect("within the limit");
    assert_eq!(account.set_memory_limit(49), Err(LimitTooLow { used_bytes: 50, limit_bytes: 49 }));
    assert_eq!(account.memory_limit_bytes(), 100);
    assert_eq!(account.set_memory_limit(50), Ok(()));
    assert_eq!(account.take(1), Err(MemoryExceeded { limit_bytes: 50 }));
    assert_eq!(account.set_memory_limit(200), Ok(()));
    assert_eq!(account.take(150), Ok(()));
}

#[test]
fn only_time_spent_computing_counts() {
    let account = Account::new(0);
    let mut sum = 0_u64;
    while account.cpu_nanoseconds() < 1_000_000 {
        sum = account.timed(|| (0..10_000_u64).fold(sum, |sum, number| std::hint::black_box(sum ^ number)));
    }
    let before = account.cpu_nanoseconds();
    assert_eq!(account.timed(|| 7), 7);
    assert!(account.cpu_nanoseconds() >= before);
}

proptest! {
    #[test]
    fn what_was_taken_and_given_back_leaves_nothing(sizes in prop::collection::vec(0_u64..1000, 0..40)) {
        let account = Account::new(5000);
        let taken: Vec<u64> = sizes.into_iter().filter(|size| account.take(*size).is_ok()).collect();
        prop_assert!(account.memory_bytes() <= 5000);
        prop_assert_eq!(account.memory_bytes(), taken.iter().sum::<u64>());
        taken.iter().for_each(|size| account.give_back(*size));
        prop_assert_eq!(account.memory_bytes(), 0);
    }
}
