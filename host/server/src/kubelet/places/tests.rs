//! Who keeps a place and who gives way.

use futures::FutureExt as _;

use super::*;

fn is_open(places: &Places) -> bool {
    places.open().now_or_never().is_some()
}

fn is_given_away(place: &Place) -> bool {
    place.given_away().now_or_never().is_some()
}

#[tokio::test]
async fn the_stranger_who_came_first_gives_way_and_who_is_known_stays() {
    let places = Places::new(3);
    let known = places.take();
    known.keep();
    let (first, second) = (places.take(), places.take());
    assert!(!is_given_away(&first), "there was a place");
    let third = places.take();
    assert!(is_given_away(&first) && !is_given_away(&second) && !is_given_away(&known));
    // Its end frees nothing: the place is somebody else's.
    drop(first);
    let fourth = places.take();
    assert!(is_given_away(&second) && !is_given_away(&third));
    drop(second);
    for place in [&third, &fourth] {
        place.keep();
    }
    assert!(!is_open(&places), "all are known");
    drop(third);
    assert!(is_open(&places));
    let last = places.take();
    assert!(!is_given_away(&known) && !is_given_away(&fourth) && !is_given_away(&last));
    drop((known, fourth, last));
    let state = places.state();
    assert_eq!((state.taken, state.strangers.len()), (0, 0));
}

#[tokio::test]
async fn who_waits_for_a_place_hears_of_the_first_that_is_left() {
    let places = Places::new(1);
    let place = places.take();
    place.keep();
    let mut waiting = std::pin::pin!(places.open());
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(place);
    assert!(waiting.now_or_never().is_some());
}
