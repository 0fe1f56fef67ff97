//! `witlet describe`: all that is known of a pod, the node or a plugin, laid out as kubectl does.

mod answer;
mod containers;
pub(crate) mod node;
pub(crate) mod plugin;
pub(crate) mod pod;
mod sections;
mod text;
mod volumes;

use witlet_ports::Clock;

use crate::cli::Describe;
use crate::get::error::GetError;

/// Prints what was asked for.
pub(crate) async fn run(what: Describe, clock: &dyn Clock) -> Result<(), GetError> {
    match what {
        Describe::Pod(args) => pod::run(&args, clock.now()).await,
        Describe::Node(args) => node::run(&args, clock.now()).await,
        Describe::Plugin(args) => plugin::run(&args, clock.now()).await,
    }
}
