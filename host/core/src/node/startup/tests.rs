//! Steps of a start.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

#[test]
fn each_step_counts_once_and_none_before_the_node_is_registered() {
    let mut startup = NodeStartup::new(Some(at(10)), at(30));
    startup.ready(at(31));
    startup.registered(at(31));
    startup.attempt(at(32));
    startup.attempt(at(33));
    assert_eq!(startup.seconds(), StartupSeconds::default());
    startup.registered(at(36));
    startup.registered(at(99));
    let registered = StartupSeconds {
        pre_kubelet: Some(20.0),
        pre_registration: Some(2.0),
        registration: Some(4.0),
        ..StartupSeconds::default()
    };
    assert_eq!(startup.seconds(), registered);
    startup.ready(at(41));
    startup.ready(at(99));
    let ready = StartupSeconds { post_registration: Some(5.0), all: Some(31.0), ..registered };
    assert_eq!(startup.seconds(), ready);
}

#[test]
fn a_machine_whose_start_is_not_known_has_no_time_since_it() {
    let mut startup = NodeStartup::new(None, at(30));
    startup.attempt(at(31));
    startup.registered(at(32));
    startup.ready(at(33));
    let StartupSeconds { pre_kubelet, registration, all, .. } = startup.seconds();
    assert_eq!((pre_kubelet, registration, all), (None, Some(1.0), None));
}
