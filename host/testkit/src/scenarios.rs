//! What every kind of node has to do with pods, whatever it is made of: the fakes of this crate, the daemon on
//! containerd, the daemon on the embedded runtime. A node of each kind is a [`World`]; a scenario knows no other.
//!
//! Scenarios wait for what they want to see with a generous deadline and never measure time, so that they hold on slow
//! machines and on paused time alike.

mod admission;
mod lifecycle;
mod programs;
mod restarts;
mod world;

use futures::future::BoxFuture;

pub use world::{Deed, FakeWorld, Programs, Role, Unfulfilled, Workload, World};

/// How a scenario went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// This world can't show it, and why.
    Skipped(String),
    /// Something wasn't as it should be.
    Failed(String),
}

/// One scenario.
pub struct Scenario {
    pub name: &'static str,
    /// Whether it needs programs that really run.
    pub needs_programs: bool,
    run: for<'a> fn(&'a mut dyn World) -> BoxFuture<'a, Result<(), Unfulfilled>>,
}

impl Scenario {
    /// Plays it in a world that has nothing yet and whose agent runs.
    pub async fn play(&self, world: &mut dyn World) -> Outcome {
        match (self.run)(world).await {
            Ok(()) => Outcome::Passed,
            Err(Unfulfilled::NotHere(why)) => Outcome::Skipped(why),
            Err(Unfulfilled::Wrong(what)) => Outcome::Failed(what),
        }
    }
}

macro_rules! scenarios {
    ($($group:ident needs_programs = $needs:literal { $($name:ident),+ $(,)? })+) => {
        /// All scenarios.
        pub const SCENARIOS: &[Scenario] = &[
            $($(Scenario {
                name: stringify!($name),
                needs_programs: $needs,
                run: |world| Box::pin($group::$name(world)),
            },)+)+
        ];
    };
}

scenarios! {
    lifecycle needs_programs = false {
        a_pod_from_a_manifest_runs,
        a_container_that_ends_well_is_treated_by_its_restart_policy,
        a_container_that_fails_is_treated_by_its_restart_policy,
        a_crashing_container_is_restarted_with_a_delay,
        a_removed_manifest_stops_and_removes_the_pod,
        a_container_that_ignores_being_asked_is_killed_after_its_grace,
        an_edited_manifest_is_a_new_pod_after_the_old_one_ended,
        an_edited_manifest_with_a_fixed_uid_restarts_only_the_changed_container,
    }
    admission needs_programs = false {
        a_pod_that_asks_for_too_much_is_rejected_and_nothing_of_it_runs,
        a_pod_whose_host_port_is_taken_is_rejected,
        a_deferred_pod_is_blocked_and_runs_once_it_is_admitted,
        a_deferred_pod_can_be_removed,
    }
    restarts needs_programs = false {
        an_agent_that_was_killed_takes_its_pods_up_again,
        a_pod_removed_while_the_agent_was_away_is_ended,
        a_runtime_that_was_away_is_reported_and_nothing_is_lost,
    }
    programs needs_programs = true {
        init_containers_run_in_order_before_the_app,
        an_init_container_that_fails_for_good_fails_the_pod,
        a_sidecar_starts_before_the_app_and_ends_with_the_pod,
        a_command_that_fails_as_a_liveness_probe_restarts_its_container,
        hooks_run_after_the_start_and_before_the_end,
        containers_share_an_empty_folder_and_see_the_pods_facts,
        a_part_of_a_volume_is_mounted_alone,
        a_last_message_becomes_part_of_the_status,
        a_volume_that_is_not_there_holds_up_its_own_pod_until_it_is,
        pods_with_sidecars_probes_and_hooks_outlive_the_agent,
    }
}
