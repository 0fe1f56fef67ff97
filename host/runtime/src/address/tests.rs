//! Cases for the addresses of pods.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

#[test]
fn addresses_go_round_and_are_used_again_after_they_were_given_back() {
    let mut pool = AddressPool::default();
    assert_eq!(pool.take(), Some(Ipv4Addr::new(127, 88, 0, 1)));
    assert_eq!(pool.take(), Some(Ipv4Addr::new(127, 88, 0, 2)));
    pool.give_back(Ipv4Addr::new(127, 88, 0, 1));
    assert_eq!(pool.take(), Some(Ipv4Addr::new(127, 88, 0, 3)), "not the one that was just left");
    while pool.take().is_some_and(|address| address != Ipv4Addr::new(127, 88, 255, 254)) {}
    assert_eq!(pool.take(), Some(Ipv4Addr::new(127, 88, 0, 1)), "round again");
    assert_eq!(pool.take(), None, "all are taken");
    pool.give_back(Ipv4Addr::new(127, 88, 9, 9));
    assert_eq!(pool.take(), Some(Ipv4Addr::new(127, 88, 9, 9)));
}

#[test]
fn only_the_network_without_its_ends_is_for_pods() {
    for (address, expected) in [
        ([127, 88, 0, 0], false),
        ([127, 88, 0, 1], true),
        ([127, 88, 255, 254], true),
        ([127, 88, 255, 255], false),
        ([127, 0, 0, 1], false),
        ([127, 89, 0, 1], false),
        ([10, 88, 0, 1], false),
    ] {
        assert_eq!(is_pod_address(Ipv4Addr::from(address)), expected, "{address:?}");
    }
}

#[test]
fn an_address_that_another_runtime_holds_is_passed_over() {
    // Far from where pools begin, so that runtimes on this machine don't meet the test.
    let start = 250 << 8 | 17;
    let mut one = AddressPool { taken: BTreeSet::new(), next: start };
    let mut other = AddressPool { taken: BTreeSet::new(), next: start };
    let first = claim(&mut one).expect("an address is free");
    let second = claim(&mut other).expect("an address is free");
    assert_ne!(first.address(), second.address());
    assert_eq!(other.taken.len(), 1, "what was passed over isn't lost");
    let address = first.address();
    drop(first);
    let mut third = AddressPool { taken: BTreeSet::new(), next: start };
    assert_eq!(claim(&mut third).expect("it was given up").address(), address);
}

proptest! {
    #[test]
    fn no_address_is_ever_given_to_two(steps in proptest::collection::vec(any::<Option<u8>>(), 0..200)) {
        let mut pool = AddressPool::default();
        let mut held = Vec::new();
        for step in steps {
            match step {
                Some(which) if !held.is_empty() => {
                    let address = held.swap_remove(usize::from(which) % held.len());
                    pool.give_back(address);
                }
                _ => held.push(pool.take().expect("far fewer than there are")),
            }
            prop_assert_eq!(held.iter().collect::<BTreeSet<_>>().len(), held.len());
        }
    }
}
