//! The scenarios of all worlds, in the world of fakes.

use witlet_testkit::scenarios::{FakeWorld, Outcome, SCENARIOS};

#[tokio::test(start_paused = true)]
async fn every_scenario_passes_on_the_fakes_but_for_those_of_real_programs() {
    for scenario in SCENARIOS {
        let mut world = FakeWorld::started();
        let outcome = scenario.play(&mut world).await;
        let as_expected = match &outcome {
            Outcome::Passed => !scenario.needs_programs,
            Outcome::Skipped(_) => scenario.needs_programs,
            Outcome::Failed(_) => false,
        };
        let log = world.node.runtime.log().join("\n");
        assert!(as_expected, "{}: {outcome:?}\n{log}", scenario.name);
    }
}
