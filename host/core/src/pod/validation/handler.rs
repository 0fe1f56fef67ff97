//! Probes and lifecycle hooks: exactly one way to do it, ports, paths, headers, times.

use k8s_openapi::api::core::v1::{
    Container, ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, PodSpec, Probe, SleepAction,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Problems, names, quoted};
use crate::pod::defaults::TERMINATION_GRACE_SECONDS;

/// Signals of Linux that can end a container, without those of real time.
const SIGNALS: [&str; 34] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

/// The probes and hooks of a container that may have them.
pub(super) fn all(path: &str, container: &Container, spec: &PodSpec, problems: &mut Problems) {
    let Container { liveness_probe, readiness_probe, startup_probe, lifecycle, .. } = container;
    for (field, found, once) in [
        ("livenessProbe", liveness_probe, true),
        ("readinessProbe", readiness_probe, false),
        ("startupProbe", startup_probe, true),
    ] {
        if let Some(found) = found {
            let path = format!("{path}.{field}");
            probe(&path, found, problems);
            if once && found.success_threshold.is_some_and(|threshold| threshold != 1) {
                problems.add(format!("{path}.successThreshold"), "Invalid value: must be 1");
            }
            if !once && found.termination_grace_period_seconds.is_some() {
                let message = "Forbidden: may not be set for readiness probes";
                problems.add(format!("{path}.terminationGracePeriodSeconds"), message);
            }
        }
    }
    if let Some(found) = lifecycle {
        hooks(&format!("{path}.lifecycle"), found, spec, problems);
    }
}

/// What neither init containers without `restartPolicy: Always` nor ephemeral containers may have.
pub(super) fn none(path: &str, container: &Container, of: &str, problems: &mut Problems) {
    let fields = [
        ("lifecycle", container.lifecycle.is_some()),
        ("livenessProbe", container.liveness_probe.is_some()),
        ("readinessProbe", container.readiness_probe.is_some()),
        ("startupProbe", container.startup_probe.is_some()),
        ("resizePolicy", container.resize_policy.as_ref().is_some_and(|policy| !policy.is_empty())),
    ];
    for (field, _) in fields.into_iter().filter(|(_, set)| *set) {
        problems.add(format!("{path}.{field}"), format!("Forbidden: may not be set for {of}"));
    }
}

fn probe(path: &str, probe: &Probe, problems: &mut Problems) {
    let times = [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ];
    for (field, _) in times.into_iter().filter(|(_, value)| value.is_some_and(|value| value < 0)) {
        problems.add(format!("{path}.{field}"), "Invalid value: must be greater than or equal to 0");
    }
    if probe.termination_grace_period_seconds.is_some_and(|seconds| seconds <= 0) {
        problems
            .add(format!("{path}.terminationGracePeriodSeconds"), "Invalid value: must be greater than 0");
    }
    let tcp = probe.tcp_socket.as_ref().map(|tcp| &tcp.port);
    let count = usize::from(probe.exec.is_some())
        + usize::from(probe.http_get.is_some())
        + usize::from(tcp.is_some())
        + usize::from(probe.grpc.is_some());
    one_handler(path, count, problems);
    handlers(path, probe.exec.as_ref(), probe.http_get.as_ref(), tcp, problems);
    if let Some(grpc) = &probe.grpc {
        port(&format!("{path}.grpc.port"), &IntOrString::Int(grpc.port), problems);
    }
}

fn hooks(path: &str, lifecycle: &Lifecycle, spec: &PodSpec, problems: &mut Problems) {
    for (field, found) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
        let Some(handler) = found else { continue };
        let path = format!("{path}.{field}");
        let LifecycleHandler { exec, http_get, sleep, tcp_socket } = handler;
        let tcp = tcp_socket.as_ref().map(|tcp| &tcp.port);
        let count = usize::from(exec.is_some())
            + usize::from(http_get.is_some())
            + usize::from(tcp.is_some())
            + usize::from(sleep.is_some());
        one_handler(&path, count, problems);
        handlers(&path, exec.as_ref(), http_get.as_ref(), tcp, problems);
        let grace = spec.termination_grace_period_seconds.unwrap_or(TERMINATION_GRACE_SECONDS);
        if let Some(SleepAction { seconds }) = sleep
            && !(0..=grace.max(0)).contains(seconds)
        {
            let message = format!(
                "Invalid value: {seconds}: must be between 0 and {grace}, the pod's terminationGracePeriodSeconds"
            );
            problems.add(format!("{path}.sleep.seconds"), message);
        }
    }
    if let Some(signal) = &lifecycle.stop_signal {
        let path = format!("{path}.stopSignal");
        if spec.os.is_none() {
            problems.add(&path, "Forbidden: may only be set when spec.os.name is set");
        }
        if !is_signal(signal) {
            problems.add(
                &path,
                format!("Unsupported value: {}: must be a signal of Linux, such as SIGTERM", quoted(signal)),
            );
        }
    }
}

fn is_signal(signal: &str) -> bool {
    let real_time = |prefix: &str, most: u8| {
        signal.strip_prefix(prefix).is_some_and(|rest| (1..=most).any(|number| rest == number.to_string()))
    };
    SIGNALS.contains(&signal)
        || ["SIGRTMIN", "SIGRTMAX"].contains(&signal)
        || real_time("SIGRTMIN+", 15)
        || real_time("SIGRTMAX-", 14)
}

fn one_handler(path: &str, count: usize, problems: &mut Problems) {
    if count != 1 {
        problems.add(path, "Invalid value: must have exactly one handler type");
    }
}

fn handlers(
    path: &str,
    exec: Option<&ExecAction>,
    http: Option<&HTTPGetAction>,
    tcp: Option<&IntOrString>,
    problems: &mut Problems,
) {
    if exec.is_some_and(|exec| exec.command.as_ref().is_none_or(Vec::is_empty)) {
        problems.add(format!("{path}.exec.command"), "Required value");
    }
    if let Some(http) = http {
        let path = format!("{path}.httpGet");
        if http.path.as_deref().is_none_or(str::is_empty) {
            problems.add(format!("{path}.path"), "Required value");
        }
        port(&format!("{path}.port"), &http.port, problems);
        problems.one_of(&format!("{path}.scheme"), http.scheme.as_deref(), &["HTTP", "HTTPS"]);
        for (index, header) in http.http_headers.iter().flatten().enumerate() {
            if !is_header_name(&header.name) {
                let message =
                    format!("Invalid value: {}: must be the name of an HTTP header", quoted(&header.name));
                problems.add(format!("{path}.httpHeaders[{index}].name"), message);
            }
        }
    }
    if let Some(number) = tcp {
        port(&format!("{path}.tcpSocket.port"), number, problems);
    }
}

fn port(path: &str, port: &IntOrString, problems: &mut Problems) {
    match port {
        IntOrString::Int(number) if (1..=i32::from(u16::MAX)).contains(number) => {}
        IntOrString::Int(number) => problems
            .add(path, format!("Invalid value: {number}: must be between 1 and {}, inclusive", u16::MAX)),
        IntOrString::String(name) if names::is_port_name(name) => {}
        IntOrString::String(name) => {
            problems.add(
                path,
                format!("Invalid value: {}: must be a number or the name of a port", quoted(name)),
            );
        }
    }
}

/// Letters, digits and `-` (upstream's `IsHTTPHeaderName`).
fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
