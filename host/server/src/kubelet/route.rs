//! Which endpoint a path leads to.

use hyper::Method;

#[cfg(test)]
mod tests;

/// What upstream's routes for reads take; a `HEAD` isn't one of them.
const READS: &[Method] = &[Method::GET];

const JSON: &str = "application/json";

/// A pod in a path, and what of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The pod's namespace; never empty.
    pub namespace: &'a str,
    /// The pod's name; never empty.
    pub pod: &'a str,
    /// Only a pod with this UID is meant, if there is one.
    pub uid: Option<&'a str>,
    /// The container's name; empty where the pod as a whole is meant.
    pub container: &'a str,
}

/// An endpoint with what its path says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// All checks, or this one.
    Healthz(Option<&'a str>),
    /// All pods of the node.
    Pods,
    RunningPods,
    Configz,
    Metrics,
    /// What probes found, for Prometheus.
    ProbeMetrics,
    /// How checks of health went, for Prometheus.
    Slis,
    /// What the node and its pods use, for the metrics server.
    ResourceMetrics,
    /// What each cgroup uses, as dashboards know it.
    CadvisorMetrics,
    /// What the node and its pods use, in full.
    StatsSummary,
    /// A log of a container.
    ContainerLogs(Target<'a>),
    /// A command in a container.
    Exec(Target<'a>),
    /// The streams of a container.
    Attach(Target<'a>),
    /// Connections into a pod.
    PortForward(Target<'a>),
    /// A command that is run to its end.
    Run(Target<'a>),
    /// The flags that the process was started with.
    Flagz,
    /// How the process is.
    Statusz,
    /// How much the process logs.
    DebugFlags,
    /// The machine's own logs, at this path below the endpoint's; it begins with a slash or is empty.
    Logs(&'a str),
    /// A profile of the process, at this path below the endpoint's; it begins with a slash or is empty.
    Profiles(&'a str),
    /// A container saved as it runs.
    Checkpoint(Target<'a>),
}

/// What an endpoint is under `enableDebuggingHandlers: false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithoutDebugging {
    Served,
    Absent,
    /// There to say that it is off.
    Refused,
}

/// Upstream's web services, by what their paths begin with, and what each is under `enableDebuggingHandlers: false`. They take slashes at
/// the end of a path, and have words of their own for paths that they have no route for.
const SERVICES: [(&str, WithoutDebugging); 11] = [
    ("/pods", WithoutDebugging::Served),
    ("/stats", WithoutDebugging::Served),
    ("/checkpoint", WithoutDebugging::Absent),
    ("/run", WithoutDebugging::Refused),
    ("/exec", WithoutDebugging::Refused),
    ("/attach", WithoutDebugging::Refused),
    ("/portForward", WithoutDebugging::Refused),
    ("/containerLogs", WithoutDebugging::Refused),
    ("/runningpods", WithoutDebugging::Refused),
    ("/logs", WithoutDebugging::Refused),
    ("/debug/pprof", WithoutDebugging::Refused),
];

/// What the web service of this path is under `enableDebuggingHandlers: false`; none of a path that belongs to none.
pub(super) fn service(path: &str) -> Option<WithoutDebugging> {
    let is_of =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SERVICES.iter().find(|(root, _)| is_of(root)).map(|(_, without)| *without)
}

impl<'a> Route<'a> {
    /// Paths are taken as they came, not decoded and not made normal: what was asked about is what is answered.
    pub fn of(path: &'a str) -> Option<Self> {
        let trimmed = if service(path).is_some() { path.trim_end_matches('/') } else { path };
        let parts: Vec<&str> = trimmed.strip_prefix('/')?.split('/').collect();
        Some(match parts[..] {
            ["healthz"] => Self::Healthz(None),
            ["healthz", check] if !check.is_empty() => Self::Healthz(Some(check)),
            ["pods"] => Self::Pods,
            ["runningpods"] => Self::RunningPods,
            ["configz"] => Self::Configz,
            ["metrics"] => Self::Metrics,
            ["metrics", "probes"] => Self::ProbeMetrics,
            ["metrics", "slis"] => Self::Slis,
            ["metrics", "resource"] => Self::ResourceMetrics,
            ["metrics", "cadvisor"] => Self::CadvisorMetrics,
            ["stats", "summary"] => Self::StatsSummary,
            ["flagz"] => Self::Flagz,
            ["statusz"] => Self::Statusz,
            ["debug", "flags", "v"] => Self::DebugFlags,
            ["logs", ..] => Self::Logs(path.strip_prefix("/logs")?),
            ["debug", "pprof", ..] => Self::Profiles(path.strip_prefix("/debug/pprof")?),
            ["checkpoint", namespace, pod, container] => {
                Self::Checkpoint(target(namespace, pod, None, container)?)
            }
            ["containerLogs", namespace, pod, container] => {
                Self::ContainerLogs(target(namespace, pod, None, container)?)
            }
            ["exec", ref rest @ ..] => Self::Exec(in_container(rest)?),
            ["attach", ref rest @ ..] => Self::Attach(in_container(rest)?),
            ["run", ref rest @ ..] => Self::Run(in_container(rest)?),
            ["portForward", namespace, pod] => Self::PortForward(pod_target(namespace, pod, None)?),
            ["portForward", namespace, pod, uid] => Self::PortForward(pod_target(namespace, pod, Some(uid))?),
            _ => return None,
        })
    }

    /// The path with names in place of what differs, as upstream's routes have them.
    pub(super) fn pattern(&self) -> &'static str {
        match self {
            Self::Healthz(None) => "/healthz",
            Self::Healthz(Some(_)) => "/healthz/{check}",
            Self::Pods => "/pods",
            Self::RunningPods => "/runningpods",
            Self::Configz => "/configz",
            Self::Metrics => "/metrics",
            Self::ProbeMetrics => "/metrics/probes",
            Self::Slis => "/metrics/slis",
            Self::ResourceMetrics => "/metrics/resource",
            Self::CadvisorMetrics => "/metrics/cadvisor",
            Self::StatsSummary => "/stats/summary",
            Self::ContainerLogs(_) => "/containerLogs/{podNamespace}/{podID}/{containerName}",
            Self::Exec(Target { uid: None, .. }) => "/exec/{podNamespace}/{podID}/{containerName}",
            Self::Exec(_) => "/exec/{podNamespace}/{podID}/{uid}/{containerName}",
            Self::Attach(Target { uid: None, .. }) => "/attach/{podNamespace}/{podID}/{containerName}",
            Self::Attach(_) => "/attach/{podNamespace}/{podID}/{uid}/{containerName}",
            Self::PortForward(Target { uid: None, .. }) => "/portForward/{podNamespace}/{podID}",
            Self::PortForward(_) => "/portForward/{podNamespace}/{podID}/{uid}",
            Self::Run(Target { uid: None, .. }) => "/run/{podNamespace}/{podID}/{containerName}",
            Self::Run(_) => "/run/{podNamespace}/{podID}/{uid}/{containerName}",
            Self::Flagz => "/flagz",
            Self::Statusz => "/statusz",
            Self::DebugFlags => "/debug/flags/v",
            Self::Logs(_) => "/logs/{logpath:*}",
            Self::Profiles(_) => "/debug/pprof/{subpath:*}",
            Self::Checkpoint(_) => "/checkpoint/{podNamespace}/{podID}/{containerName}",
        }
    }

    /// What becomes of it where there are no debugging handlers.
    pub(super) fn without_debugging(&self) -> WithoutDebugging {
        match self {
            Self::Healthz(_)
            | Self::Pods
            | Self::Metrics
            | Self::ProbeMetrics
            | Self::Slis
            | Self::ResourceMetrics
            | Self::CadvisorMetrics
            | Self::StatsSummary => WithoutDebugging::Served,
            Self::Configz | Self::Flagz | Self::Statusz | Self::DebugFlags | Self::Checkpoint(_) => {
                WithoutDebugging::Absent
            }
            Self::RunningPods
            | Self::ContainerLogs(_)
            | Self::Exec(_)
            | Self::Attach(_)
            | Self::PortForward(_)
            | Self::Run(_)
            | Self::Logs(_)
            | Self::Profiles(_) => WithoutDebugging::Refused,
        }
    }

    /// What it answers to; empty if it is every method: upstream has a handler for the path there, elsewhere a route for the method
    /// (`pkg/kubelet/server/server.go`). Its own node suite asks for health by `HEAD`.
    pub(super) fn methods(&self) -> &'static [Method] {
        match self {
            Self::Healthz(_)
            | Self::Metrics
            | Self::ProbeMetrics
            | Self::Slis
            | Self::ResourceMetrics
            | Self::CadvisorMetrics
            | Self::Configz
            | Self::Flagz
            | Self::Statusz
            | Self::DebugFlags => &[],
            Self::Pods | Self::RunningPods | Self::ContainerLogs(_) | Self::Logs(_) | Self::Profiles(_) => {
                READS
            }
            Self::StatsSummary | Self::Exec(_) | Self::Attach(_) | Self::PortForward(_) => {
                &[Method::GET, Method::POST]
            }
            Self::Run(_) | Self::Checkpoint(_) => &[Method::POST],
        }
    }

    /// The media type of a route that upstream declares one for.
    fn media_type(&self) -> Option<&'static str> {
        match self {
            Self::Pods | Self::RunningPods | Self::StatsSummary | Self::Checkpoint(_) => Some(JSON),
            _ => None,
        }
    }

    /// The only media type of this route, if a client with this `Accept` doesn't take it. As go-restful reads the header: qualities don't
    /// count, and of patterns only that for everything does.
    pub(super) fn not_acceptable(&self, accept: &str) -> Option<&'static str> {
        let media_type = self.media_type()?;
        let mut names = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
        let is_taken = accept.is_empty() || names.any(|name| name == "*/*" || name == media_type);
        (!is_taken).then_some(media_type)
    }

    pub(super) fn takes(&self, method: &Method) -> bool {
        let methods = self.methods();
        methods.is_empty() || methods.contains(method)
    }
}

fn in_container<'a>(rest: &[&'a str]) -> Option<Target<'a>> {
    match rest {
        [namespace, pod, container] => target(namespace, pod, None, container),
        [namespace, pod, uid, container] => target(namespace, pod, Some(uid), container),
        _ => None,
    }
}

fn target<'a>(
    namespace: &'a str,
    pod: &'a str,
    uid: Option<&'a str>,
    container: &'a str,
) -> Option<Target<'a>> {
    let target = pod_target(namespace, pod, uid)?;
    (!container.is_empty()).then_some(Target { container, ..target })
}

fn pod_target<'a>(namespace: &'a str, pod: &'a str, uid: Option<&'a str>) -> Option<Target<'a>> {
    let named = !namespace.is_empty() && !pod.is_empty() && uid != Some("");
    named.then_some(Target { namespace, pod, uid, container: "" })
}
