//! The promises, grouped by port.

mod changes;
mod commands;
mod containers;
mod images;
mod info;
mod mounts;
mod sandboxes;
mod view;

use futures::future::BoxFuture;

use crate::environment::Environment;
use crate::fixture::{Fixture, Verdict};

/// What a case can't do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Sandboxes with addresses of their own.
    Addresses,
    /// Processes that end by themselves.
    Processes,
    /// Logs of what processes write.
    Logs,
    /// An image to pull.
    PullableImage,
    /// An image that may be removed.
    RemovableImage,
    /// Commands in containers.
    Commands,
    /// Folders of the host in containers.
    Mounts,
    /// Limits that change.
    Limits,
    /// A registry with passwords.
    Registry,
}

/// One promise.
pub struct Case {
    /// The promise as a claim.
    pub name: &'static str,
    needs: &'static [Need],
    pub(crate) run: for<'a> fn(&'a Fixture<'a>) -> BoxFuture<'a, Verdict>,
}

impl Case {
    /// Why this case can't be seen in this environment, if it can't.
    pub fn skipped(&self, environment: &Environment) -> Option<String> {
        self.needs.iter().find_map(|need| {
            let (met, reason) = match need {
                Need::Addresses => (environment.addresses, "sandboxes of this runtime have no addresses"),
                Need::Processes => (environment.processes.is_some(), "this runtime has no real processes"),
                Need::Logs => (
                    environment.processes.as_ref().is_some_and(|processes| processes.writes.is_some()),
                    "this runtime keeps no logs",
                ),
                Need::PullableImage => {
                    (environment.pullable_image.is_some(), "there is nothing to pull from")
                }
                Need::RemovableImage => {
                    (environment.offers.removable_image.is_some(), "there is no image that may be removed")
                }
                Need::Commands => {
                    (environment.offers.commands.is_some(), "this runtime runs no commands in containers")
                }
                Need::Mounts => (environment.offers.writes_to.is_some(), "this runtime mounts no folders"),
                Need::Limits => (environment.offers.changes_limits, "this runtime changes no limits"),
                Need::Registry => {
                    (environment.offers.registry.is_some(), "there is no registry that wants a password")
                }
            };
            (!met).then(|| reason.to_owned())
        })
    }
}

macro_rules! cases {
    ($($group:ident { $($name:ident $(needs $($need:ident)+)?;)+ })+) => {
        /// All promises of the runtime ports.
        pub const CASES: &[Case] = &[
            $($(Case {
                name: stringify!($name),
                needs: &[$($(Need::$need),+)?],
                run: |fixture| Box::pin($group::$name(fixture)),
            },)+)+
        ];
    };
}

cases! {
    info {
        the_runtime_says_who_it_is_and_speaks_cri_v1;
        runtime_and_network_are_ready;
    }
    sandboxes {
        a_sandbox_runs_stops_and_goes;
        stopping_and_removing_a_sandbox_may_be_repeated;
        sandboxes_have_addresses_of_their_own needs Addresses;
        a_sandbox_on_the_hosts_network_has_no_address_of_its_own;
        a_pod_may_have_a_newer_sandbox_next_to_a_stopped_one;
        stopping_a_sandbox_ends_what_runs_in_it;
        removing_a_sandbox_removes_its_containers;
        a_second_sandbox_of_the_same_name_and_attempt_is_refused;
    }
    containers {
        a_container_is_created_runs_and_is_stopped;
        stopping_and_removing_a_container_may_be_repeated;
        exit_codes_are_reported needs Processes;
        a_process_that_ignores_being_asked_is_killed_after_its_grace needs Processes;
        output_is_logged_in_the_cri_format needs Logs;
        a_container_is_started_again_as_a_new_attempt;
        a_running_container_may_be_removed;
        containers_of_a_pod_run_side_by_side;
        a_container_in_no_sandbox_is_refused;
        starting_what_is_not_there_is_not_found;
    }
    commands {
        a_command_gives_its_output_and_its_exit_code needs Commands;
        a_command_that_takes_too_long_is_killed needs Commands;
        commands_in_what_does_not_run_are_refused;
    }
    changes {
        limits_change_and_what_is_not_named_stays needs Limits;
        limits_of_what_is_not_there_are_not_found;
        a_log_that_was_moved_away_is_written_again needs Logs;
        reopening_the_log_of_what_is_not_there_is_not_found;
    }
    mounts {
        a_mounted_folder_is_shared_with_the_host_and_other_containers needs Mounts;
        a_read_only_mount_can_not_be_written needs Mounts;
        mounts_are_reported_as_they_were_asked_for needs Mounts;
    }
    view {
        pods_are_known_by_their_labels_alone;
        lists_and_statuses_are_newest_first;
        annotations_come_back_as_they_were_given;
        a_pod_that_is_not_there_is_absent;
        the_status_of_one_pod_shows_no_other;
        events_are_reported_or_said_to_be_missing;
    }
    images {
        an_image_that_is_there_has_an_id;
        an_image_that_is_not_there_is_none;
        pulling_what_does_not_exist_fails;
        images_are_listed_with_their_sizes_and_names;
        the_image_of_a_container_is_known_until_that_is_removed;
        a_container_without_image_volumes_has_none_mounted;
        the_image_file_system_has_a_place;
        removing_an_image_that_is_not_there_succeeds;
        a_removed_image_can_be_pulled_again needs RemovableImage;
        what_a_pull_returns_can_be_run needs PullableImage;
        a_private_image_is_only_for_those_who_show_its_credentials needs Registry;
        what_a_registry_has_not_got_can_not_be_pulled needs Registry;
    }
}
