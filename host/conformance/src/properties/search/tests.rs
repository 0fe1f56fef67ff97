//! The search finds, shrinks and repeats itself.

use proptest::prelude::*;

use super::*;

fn numbers() -> BoxedStrategy<u32> {
    (0_u32..10_000).boxed()
}

fn lists() -> BoxedStrategy<Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..50).boxed()
}

fn run<T: Clone + Debug>(mut search: Search<T>, fails: impl Fn(&T) -> bool) -> (Option<T>, Vec<T>) {
    let mut tried = Vec::new();
    while let Some(input) = search.next() {
        tried.push(input.clone());
        let finding = fails(&input).then(|| Finding::new("", "", ""));
        search.told(input, finding);
    }
    (search.found().map(|(input, _)| input), tried)
}

#[test]
fn the_smallest_input_that_fails_is_found() {
    let (found, _) = run(Search::new(1, 64, numbers), |number| *number > 1234);
    assert_eq!(found, Some(1235));
    let (found, _) = run(Search::new(7, 64, lists), |list| list.iter().any(|byte| *byte >= 200));
    assert_eq!(found, Some(vec![200]));
}

#[test]
fn as_many_inputs_are_tried_as_asked_for() {
    let (found, tried) = run(Search::new(1, 10, numbers), |_| false);
    assert_eq!((found, tried.len()), (None, 10));
}

#[test]
fn a_seed_gives_the_same_inputs_again_and_another_one_others() {
    let inputs = |seed| run(Search::new(seed, 10, numbers), |_| false).1;
    assert_eq!(inputs(3), inputs(3));
    assert_ne!(inputs(3), inputs(4));
}

#[test]
fn a_failure_that_no_input_explains_ends_after_the_bound() {
    let (_, tried) = run(Search::new(1, 64, lists), |_| true);
    assert!(tried.len() <= SHRINK_STEPS_MAX + 1, "{}", tried.len());
}
