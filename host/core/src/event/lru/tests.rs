//! The table's bound, and whom it forgets.

use super::*;

#[test]
fn the_entry_that_wasnt_used_for_longest_is_forgotten_first() {
    let mut table = Lru::new(2);
    for (key, expected) in [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3), ("b", 1), ("c", 1)] {
        let count = table.get_or_insert_with(&key, || 0);
        *count += 1;
        assert_eq!(*count, expected, "{key}");
        assert!(table.entries.len() <= 2 && table.uses.len() == table.entries.len());
    }
}
