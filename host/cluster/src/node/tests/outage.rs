//! Servers that are away, hang, or refuse.

use witlet_api_server::{Effect, Fault};

use super::*;

#[tokio::test(start_paused = true)]
async fn registration_goes_on_until_the_server_is_there() {
    let mut rig = Rig::new();
    rig.server.down();
    rig.start();
    sleep(3600 * SECOND).await;
    let tries = rig.server.count("create nodes");
    assert!(tries <= 3600 / 7 + 10, "{tries} tries in an hour");
    rig.server.up();
    sleep(8 * SECOND).await;
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready True"));
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_the_status_is_right_within_one_period() {
    let mut rig = Rig::new();
    rig.start();
    sleep(60 * SECOND).await;
    rig.server.down();
    sleep(60 * SECOND).await;
    rig.view.set_ready(false);
    sleep(3600 * SECOND).await;
    rig.server.clear_requests();
    rig.server.up();
    sleep(11 * SECOND).await;
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready False"));
    sleep(60 * SECOND).await;
    let patches = rig.server.count("patch nodes/status");
    assert_eq!(patches, 1, "what waited is sent once");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_registration_makes_no_second_node() {
    let mut rig = Rig::new();
    rig.server.fault(Fault::new(Effect::DropAfter).verb("create").on("nodes").times(1));
    rig.start();
    sleep(5 * SECOND).await;
    assert_eq!(rig.server.list::<Node>().len(), 1);
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready True"));
    assert_eq!(rig.server.count("create nodes"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_costs_one_deadline() {
    let mut rig = Rig::new();
    rig.start();
    sleep(30 * SECOND).await;
    rig.server.fault(Fault::new(Effect::Stall).on("nodes/status").times(1));
    rig.view.set_ready(false);
    sleep(25 * SECOND).await;
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready False"));
}

#[tokio::test(start_paused = true)]
async fn a_refused_status_is_made_again_of_the_servers_own_object() {
    let mut rig = Rig::new();
    rig.start();
    sleep(30 * SECOND).await;
    for (code, tries) in [(409, 1), (422, 3)] {
        rig.server.clear_requests();
        rig.server.fault(Fault::new(Effect::code(code)).on("nodes/status").times(tries));
        let is_ready = rig.conditions().last().is_some_and(|line| line == "Ready True");
        rig.view.set_ready(!is_ready);
        sleep(2 * SECOND).await;
        let expected = if is_ready { "Ready False" } else { "Ready True" };
        assert_eq!(rig.conditions().last().map(String::as_str), Some(expected), "after {code}");
        let counts = (rig.server.count("patch nodes/status"), rig.server.count("get nodes"));
        match code {
            409 => assert_eq!(counts, (2, 1)),
            // The fake answers 500 to a code that it has no words for: no refusal, and the next period tries again.
            _ => assert!(counts.0 >= 1),
        }
        rig.server.clear_faults();
        sleep(30 * SECOND).await;
    }
}
