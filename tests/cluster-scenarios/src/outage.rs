//! The agent with all that it has of a cluster: outages of the server, and kills of the agent between any two requests.

use witlet_api_server::{Effect, Fault, Moment};
use witlet_ports::AgentView;

use crate::world::{World, pass};

#[tokio::test(start_paused = true)]
async fn after_an_hour_without_a_server_every_status_is_right_and_few_requests_reported_them() {
    let world = World::started();
    world.ends_after("job:1", 0, 600);
    world.ends_after("crash:1", 3, 400);
    world.create("web", "sleeper:1", "Always");
    world.create("job", "job:1", "Never");
    world.create("crash", "crash:1", "Always");
    world.create("ends", "sleeper:1", "Always");
    pass(20.0).await;
    for name in ["web", "job", "crash", "ends"] {
        assert_eq!(world.on_server(name), "Running, 0 restarts, ready True", "{name}");
    }
    world.server.down();
    pass(3600.0).await;
    world.delete("ends", 30);
    world.server.clear_requests();
    world.server.up();
    pass(70.0).await;
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True");
    assert_eq!(world.on_server("job"), "Succeeded, 0 restarts, ready False");
    assert_eq!(world.on_server("ends"), "gone");
    let crash = world.on_server("crash");
    assert!(crash.contains("8 restarts") || crash.contains("7 restarts"), "{crash}");
    let requests = world.server.counts();
    let of = |action: &str| requests.get(action).copied().unwrap_or(0);
    assert!(of("patch pods/status") <= 8, "{requests:?}");
    assert!(of("create events") + of("patch events") <= 30, "{requests:?}");
    assert_eq!((of("get pods"), of("delete pods")), (0, 1), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lost_its_history_behind_a_load_balancer_is_listened_to_seconds_after_its_first_answer()
{
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(20.0).await;
    // Connections are taken, and end.
    let outage = world.server.fault(Fault::new(Effect::DropBefore));
    world.server.end_watches();
    pass(600.0).await;
    world.create("late", "sleeper:1", "Always");
    world.server.expire_history();
    world.server.clear_requests();
    world.server.remove_fault(outage);
    let is_asked = || {
        let requests = world.server.requests();
        requests.iter().any(|request| request.action() == "watch pods")
    };
    let mut tenths = 0;
    while !is_asked() {
        pass(0.1).await;
        tenths += 1;
        assert!(tenths <= 620, "the watch isn't tried again within a minute: {:?}", world.server.counts());
    }
    pass(5.0).await;
    assert_eq!(world.on_server("late"), "Running, 0 restarts, ready True");
    assert_eq!((world.starts("web"), world.starts("late")), (1, 1));
    let tries = world.server.counts().get("watch pods").copied().unwrap_or_default();
    // The first got that its version is gone.
    assert!((2..=3).contains(&tries), "{tries} tries");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_restarted_without_a_server_runs_its_pods_and_tells_of_them_later() {
    let mut world = World::started();
    world.create("web", "sleeper:1", "Always");
    world.create("job", "sleeper:1", "Never");
    pass(20.0).await;
    world.server.down();
    world.node.kill();
    world.node.runtime.lose_sandboxes();
    world.node.start();
    pass(300.0).await;
    assert_eq!((world.starts("web"), world.starts("job")), (2, 1));
    world.server.up();
    pass(70.0).await;
    assert_eq!(world.on_server("web"), "Running, 1 restarts, ready True");
    assert_eq!(world.on_server("job"), "Failed, 0 restarts, ready False");
}

/// A pod that runs and is deleted, and a job that ends; the agent is killed at the k-th request from its creation on. Gives
/// whether there was such a request.
async fn killed_at(k: u64, moment: Moment) -> bool {
    let mut world = World::started();
    world.ends_after("job:1", 0, 5);
    pass(5.0).await;
    world.server.hold_from(world.server.last_request() + k, moment);
    world.create("web", "sleeper:1", "Always");
    world.create("job", "job:1", "Never");
    let early = world.pass_or_die(40.0).await;
    let at = format!("killed at request {k}, {moment:?}");
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True", "{at}");
    assert_eq!(world.on_server("job"), "Succeeded, 0 restarts, ready False", "{at}");
    world.delete("web", 30);
    world.delete("job", 30);
    let late = world.pass_or_die(70.0).await;
    assert_eq!(
        (world.on_server("web"), world.on_server("job")),
        ("gone".to_owned(), "gone".to_owned()),
        "{at}"
    );
    assert_eq!((world.starts("web"), world.starts("job")), (1, 1), "{at}");
    assert!(world.node.agent().pods().is_empty(), "{at}");
    early || late
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_killed_between_any_two_requests_loses_nothing_and_starts_nothing_twice() {
    for moment in [Moment::Before, Moment::After] {
        let mut k = 1;
        while killed_at(k, moment).await {
            k += 1;
            assert!(k < 200, "a story of two pods has no end of requests");
        }
        assert!(k > 8, "the story had only {k} requests");
    }
}
