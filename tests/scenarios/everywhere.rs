//! The scenarios of all worlds, in the world of fakes.

use witlet_testkit::scenarios::{FakeWorld, Outcome, SCENARIOS};

#[tokio::test(start_paused = true)]
async fn every_scenario_passes_on_the_fakes() {
    for scenario in SCENARIOS {
        let mut world = FakeWorld::started();
        let outcome = scenario.play(&mut world).await;
        assert_eq!(outcome, Outcome::Passed, "{}\n{}", scenario.name, world.node.runtime.log().join("\n"));
    }
}
