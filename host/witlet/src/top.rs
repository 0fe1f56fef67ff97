//! `witlet top`: what is used now, checked again and again in a terminal, and once elsewhere.

mod live;
mod node;
mod plugins;
mod pods;
mod screen;
mod source;

use serde_json::Value;
use witlet_ports::Clock;

use crate::cli::{OutputFormat, Top, TopArgs};
use crate::get::error::GetError;
use crate::get::table;
use crate::output::{print, structured};
use crate::terminal;
use source::Source;

/// Shows what was asked for.
pub(crate) async fn run(top: Top, clock: &dyn Clock) -> Result<(), GetError> {
    match top {
        Top::Pods(args) => show(pods::PodSource::new(&args, clock), &args.top).await,
        Top::Node(args) => show(node::NodeSource::new(&args, clock), &args).await,
        Top::Plugins(args) => show(plugins::PluginSource::new(&args, clock), &args.top).await,
    }
}

/// Returns what `-o json` prints.
#[cfg(test)]
pub(crate) async fn document(top: &Top, clock: &dyn Clock) -> Result<Value, GetError> {
    let snapshot = match top {
        Top::Pods(args) => pods::PodSource::new(args, clock).snapshot().await,
        Top::Node(args) => node::NodeSource::new(args, clock).snapshot().await,
        Top::Plugins(args) => plugins::PluginSource::new(args, clock).snapshot().await,
    };
    snapshot.map(|snapshot| snapshot.document)
}

async fn show(mut source: impl Source, args: &TopArgs) -> Result<(), GetError> {
    let is_table = matches!(args.output, OutputFormat::Table | OutputFormat::Wide);
    // Whether an agent answers is known before the terminal is changed.
    let snapshot = source.snapshot().await?;
    if is_table && !args.once && terminal::is_screen() {
        return live::run(source, snapshot, args.interval).await;
    }
    let text = match is_table {
        true => table::render(&snapshot.header, &snapshot.rows),
        false => structured::<Value>(&snapshot.document, args.output)?,
    };
    Ok(print(&text)?)
}
