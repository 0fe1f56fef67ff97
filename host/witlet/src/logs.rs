//! `witlet logs`: the log of a container, over the agent's own socket.

use std::sync::Arc;

use k8s_openapi::List;
use k8s_openapi::api::core::v1::Pod;
use witlet_server::LocalClient;

use crate::cli::{ContainerArgs, LogsArgs};
use crate::get::error::GetError;
use crate::names;
use crate::output::{note, print_bytes};

#[cfg(test)]
mod tests;

/// A container of a pod by their full names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
}

/// Prints it, and what follows.
pub(crate) async fn run(args: &LogsArgs) -> Result<(), GetError> {
    let client = LocalClient::new(&args.target.api_socket);
    let target = target(&client, &args.target).await?;
    let mut log = client.stream(&request(&target, args)).await?;
    while let Some(bytes) = log.next().await? {
        if !print_bytes(&bytes)? {
            break;
        }
    }
    Ok(())
}

/// The container that is meant. Where there was a choice, the others are named, as kubectl does.
pub(crate) async fn target(client: &LocalClient, args: &ContainerArgs) -> Result<Target, GetError> {
    let list: List<Pod> = client.get("/pods").await?;
    let pods: Vec<Arc<Pod>> = list.items.into_iter().map(Arc::new).collect();
    let pod = names::pod(&pods, &args.namespace, &args.pod)?;
    let (container, is_choice) = names::container(pod, args.container.as_deref())?;
    if is_choice {
        note(&format!("Defaulted container {container:?} out of: {}", names::shown_containers(pod)));
    }
    Ok(Target { namespace: args.namespace.clone(), pod: names::name_of(pod).to_owned(), container })
}

fn request(target: &Target, args: &LogsArgs) -> String {
    let Target { namespace, pod, container } = target;
    let flag = |name: &str, is_set: bool| is_set.then(|| format!("{name}=true"));
    let value = |name: &str, value: Option<String>| value.map(|value| format!("{name}={value}"));
    let parts = [
        flag("follow", args.follow),
        flag("previous", args.previous),
        flag("timestamps", args.timestamps),
        value("tailLines", u64::try_from(args.tail).ok().map(|lines| lines.to_string())),
        value("sinceSeconds", args.since.map(|seconds| seconds.to_string())),
        value("sinceTime", args.since_time.map(|at| at.to_string())),
        value("limitBytes", args.limit_bytes.map(|bytes| bytes.to_string())),
    ];
    let query: Vec<String> = parts.into_iter().flatten().collect();
    format!("/containerLogs/{namespace}/{pod}/{container}?{}", query.join("&"))
}
