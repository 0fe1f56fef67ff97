//! Cases for resources.

use super::*;

#[test]
fn a_memory_limit_is_one_only_if_it_is_positive() {
    for (bytes, expected) in
        [(0, MEMORY_DEFAULT_BYTES), (-1, MEMORY_DEFAULT_BYTES), (1, 1), (i64::MAX, i64::MAX as u64)]
    {
        let resources = Resources { memory_limit_bytes: bytes, ..Resources::default() };
        assert_eq!(resources.memory_limit(), expected, "{bytes}");
    }
}

#[test]
fn an_update_leaves_what_it_does_not_name() {
    let before =
        Resources { memory_limit_bytes: 1, cpu_shares: 2, cpu_quota: 3, cpu_period: 4, oom_score_adj: 5 };
    assert_eq!(before.updated(&Resources::default()), before);
    let update = Resources { memory_limit_bytes: -1, cpu_quota: 7, ..Resources::default() };
    assert_eq!(before.updated(&update), Resources { memory_limit_bytes: -1, cpu_quota: 7, ..before });
}
