//! What is made is the same for a seed, and of all kinds.

use std::collections::BTreeSet;

use super::{Choices, PodQuestion, rules};

#[test]
fn a_seed_makes_the_same_rules_and_questions_and_others_make_others() {
    let made = |seed| {
        let mut choices = Choices::new(seed);
        (rules(&mut choices, &[]).to_string(), format!("{:?}", PodQuestion::new(&mut choices)))
    };
    let all: BTreeSet<_> = (0..100).map(made).collect();
    assert_eq!(all.len(), 100);
    assert_eq!(made(7), made(7));
}

#[test]
fn what_is_given_stands_in_the_rules() {
    for seed in 0..50 {
        let given = ["a == 'given'", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
        let made = rules(&mut Choices::new(seed), &given).to_string();
        for expression in given {
            assert!(made.contains(&format!("\"{expression}\"")), "{seed}: {expression} isn't in {made}");
        }
    }
}

#[test]
fn every_operation_is_asked_with_what_it_is_about() {
    let mut operations = BTreeSet::new();
    for seed in 0..200 {
        let question = PodQuestion::new(&mut Choices::new(seed));
        let changes = ["resize", "update", "ephemeral"].contains(&question.operation);
        assert_eq!(question.old_pod.is_some(), changes, "{question:?}");
        assert_eq!(question.image.is_some(), question.operation == "image-resolved", "{question:?}");
        operations.insert(question.operation);
    }
    assert_eq!(operations.len(), 7);
}
