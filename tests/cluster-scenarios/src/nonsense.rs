//! A server that answers what no server should, to each kind of request: the agent falls back or backs off, and recovers.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use witlet_api_server::{Effect, Fault};
use witlet_testkit::NODE_NAME;

use crate::world::{World, pass};

/// Requests of a minute from a node with one pod; each kind has a back-off of its own.
const REQUESTS_MAX: u64 = 600;

fn effects() -> [Effect; 7] {
    [
        Effect::code(500),
        Effect::code(404),
        Effect::html(200),
        Effect::html(502),
        Effect::nothing(),
        Effect::Half,
        Effect::DropBefore,
    ]
}

/// Whether the node's Ready condition is True.
fn is_ready(world: &World) -> bool {
    let node: Option<Node> = world.server.get("", NODE_NAME);
    let conditions = node.and_then(|node| node.status).and_then(|status| status.conditions);
    conditions.iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn renewed(world: &World) -> Option<jiff::Timestamp> {
    let lease: Lease = world.server.get("kube-node-lease", NODE_NAME)?;
    lease.spec?.renew_time.map(|time| time.0)
}

/// What every node and pod must have come to.
fn is_well(world: &World, case: &str) {
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True", "{case}");
    assert!(is_ready(world), "{case}");
    let now = world.server.now();
    let renewed = renewed(world).expect("it has a lease");
    assert!(now.duration_since(renewed).as_secs() <= 40, "{case}: the lease is of {renewed}, it is {now}");
    assert_eq!(world.starts("web"), 1, "{case}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_starts_next_to_a_server_that_talks_nonsense_is_well_once_that_has_ended() {
    for effect in effects() {
        let world = World::started();
        let fault = world.server.fault(Fault::new(effect.clone()));
        world.create("web", "sleeper:1", "Always");
        pass(60.0).await;
        let requests: u64 = world.server.counts().values().sum();
        assert!(requests <= REQUESTS_MAX, "{effect:?}: {:?}", world.server.counts());
        pass(240.0).await;
        world.server.remove_fault(fault);
        pass(120.0).await;
        is_well(&world, &format!("{effect:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_request_recovers_from_nonsense_of_its_own() {
    let kinds = [
        ("watch", "pods"),
        ("list", "pods"),
        ("patch", "pods/status"),
        ("watch", "nodes"),
        ("list", "nodes"),
        ("create", "nodes"),
        ("get", "nodes"),
        ("patch", "nodes/status"),
        ("create", "leases"),
        ("get", "leases"),
        ("update", "leases"),
        ("create", "events"),
        ("watch", "services"),
        ("watch", "runtimeclasses"),
    ];
    let effects = effects();
    for (number, (verb, resource)) in kinds.into_iter().enumerate() {
        // Two for each, so that every answer meets several kinds.
        for effect in [0, 3].map(|more| effects[(number + more) % effects.len()].clone()) {
            let world = World::started();
            let fault = world.server.fault(Fault::new(effect.clone()).verb(verb).on(resource));
            world.create("web", "sleeper:1", "Always");
            pass(150.0).await;
            world.server.remove_fault(fault);
            pass(120.0).await;
            is_well(&world, &format!("{verb} {resource}: {effect:?}"));
        }
    }
}
