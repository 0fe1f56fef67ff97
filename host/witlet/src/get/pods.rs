//! `witlet get pods`: the pods of the node, and with `--watch` how they change.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::PodUid;
use witlet_ports::Clock;
use witlet_server::LocalClient;

use super::error::GetError;
use super::table;
use super::watch::{Change, Watched, document, follow};
use crate::cli::{GetArgs, OutputFormat};
use crate::output::{OutputError, print, structured};

#[cfg(test)]
mod tests;

/// Where a row says how old the pod is, and how it is.
const AGE_AT: usize = 5;
const STATUS_AT: usize = 3;

/// Rows that are remembered, so that a pod is shown again only if its row is another.
const ROWS_MAX: usize = 4096;

/// The least widths of columns, for rows that come later.
const WIDTHS_MIN: [usize; 9] = [11, 30, 5, 17, 14, 6, 15, 10, 7];

/// Prints those that there are.
pub(super) async fn run(args: &GetArgs, now: Timestamp) -> Result<(), GetError> {
    let mut list: List<Pod> = LocalClient::new(&args.api_socket).get("/pods").await?;
    list.items.retain(|pod| is_selected(pod, args));
    if let (Some(name), true) = (&args.name, list.items.is_empty()) {
        let place = args.namespace.as_ref().map(|n| format!(" in namespace {n:?}")).unwrap_or_default();
        return Err(GetError::NotFound { kind: "pod", name: name.clone(), place });
    }
    let text = match (args.output, &args.name, list.items.as_slice()) {
        (OutputFormat::Json | OutputFormat::Yaml, Some(_), [only]) => structured(only, args.output)?,
        (OutputFormat::Json | OutputFormat::Yaml, _, _) => structured(&list, args.output)?,
        (OutputFormat::Table | OutputFormat::Wide, _, []) => "No pods found.\n".to_owned(),
        (OutputFormat::Table | OutputFormat::Wide, _, items) => {
            let wide = args.output == OutputFormat::Wide;
            let rows: Vec<_> = items.iter().map(|pod| table::pod_row(pod, wide, now)).collect();
            table::render(&table::pod_header(wide), &rows)
        }
    };
    Ok(print(&text)?)
}

fn is_selected(pod: &Pod, args: &GetArgs) -> bool {
    let matches =
        |requested: &Option<String>, have: &Option<String>| requested.is_none() || requested == have;
    matches(&args.namespace, &pod.metadata.namespace) && matches(&args.name, &pod.metadata.name)
}

/// Prints them, and then each that changes.
pub(super) async fn watch(args: &GetArgs, clock: &dyn Clock) -> Result<(), GetError> {
    // Whether an agent answers is known before anything is printed.
    let _: serde_json::Value = LocalClient::new(&args.api_socket).get("/stats").await?;
    let mut watched = PodWatch { args, clock, shown: BTreeMap::new() };
    if matches!(args.output, OutputFormat::Table | OutputFormat::Wide) {
        let header: Vec<String> =
            table::pod_header(watched.is_wide()).into_iter().map(str::to_owned).collect();
        print(&table::line(&header, &WIDTHS_MIN))?;
    }
    follow(&args.api_socket, &mut watched).await
}

struct PodWatch<'a> {
    args: &'a GetArgs,
    clock: &'a dyn Clock,
    /// The rows that were printed last, without their ages.
    shown: BTreeMap<PodUid, Vec<String>>,
}

impl PodWatch<'_> {
    fn is_wide(&self) -> bool {
        self.args.output == OutputFormat::Wide
    }

    /// The row of a pod, unless it is the one that was printed last.
    fn row(&mut self, pod: &Pod, is_deleted: bool) -> Option<Vec<String>> {
        let mut row = table::pod_row(pod, self.is_wide(), self.clock.now());
        let uid = PodUid::of(pod);
        if is_deleted {
            self.shown.remove(&uid);
            row[STATUS_AT] = "Deleted".to_owned();
            return Some(row);
        }
        let mut kept = row.clone();
        kept[AGE_AT].clear();
        if self.shown.len() >= ROWS_MAX {
            self.shown.clear();
        }
        let before = self.shown.insert(uid, kept.clone());
        (before != Some(kept)).then_some(row)
    }
}

impl Watched for PodWatch<'_> {
    /// After a restart of the agent all pods come again.
    fn request(&self) -> String {
        "/pods?watch=true".to_owned()
    }

    fn show(&mut self, change: Change) -> Result<Option<String>, OutputError> {
        let pod: Pod = serde_json::from_value(change.object.clone()).map_err(OutputError::Json)?;
        if !is_selected(&pod, self.args) {
            return Ok(None);
        }
        match self.args.output {
            OutputFormat::Json | OutputFormat::Yaml => document(&change, self.args.output).map(Some),
            OutputFormat::Table | OutputFormat::Wide => {
                let row = self.row(&pod, change.kind == "DELETED");
                Ok(row.map(|row| table::line(&row, &WIDTHS_MIN)))
            }
        }
    }
}
