//! `witlet get`: asks the daemon over its socket, and prints the answer.

pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod node;
mod pods;
pub(crate) mod table;
pub(crate) mod usage;
mod watch;

use witlet_ports::Clock;

use crate::cli::{Get, PodsArgs, WatchArgs};
use error::GetError;

/// Prints what was asked for.
pub(crate) async fn run(get: Get, clock: &dyn Clock) -> Result<(), GetError> {
    match get {
        Get::Pods(PodsArgs { list, usage: true }) => usage::run(&list.get).await,
        Get::Pods(PodsArgs { list: WatchArgs { get, watch: true }, .. }) => pods::watch(&get, clock).await,
        Get::Pods(PodsArgs { list, .. }) => pods::run(&list.get, clock.now()).await,
        Get::Events(WatchArgs { get, watch: true }) => events::watch(&get, clock).await,
        Get::Events(WatchArgs { get, .. }) => events::run(&get, clock.now()).await,
        Get::Node(args) => node::run(&args, clock.now()).await,
        Get::Plugins(args) => crate::plugin::list::run(&args).await,
    }
}
