//! Tables as kubectl prints them (`pkg/printers/internalversion`), computed from API objects.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

/// Rows of equal length under a header; columns are padded to their widest cell and three spaces apart.
pub(crate) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let widths = widths(header, rows);
    let header: Vec<String> = header.iter().map(|title| (*title).to_owned()).collect();
    std::iter::once(&header).chain(rows).map(|row| line(row, &widths)).collect()
}

/// The widths of columns, for [`line`].
pub(crate) fn widths(header: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let columns = header.iter().enumerate();
    columns
        .map(|(column, title)| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([title.len()]).max().unwrap_or_default()
        })
        .collect()
}

/// A row with the end of its line.
pub(crate) fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(&format!("{:<width$}   ", one_line(cell)));
    }
    format!("{}\n", line.trim_end())
}

/// What containers, registries and plugins say must not reach the terminal as commands.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |char: char| match char {
        '\n' | '\r' | '\t' => ' ',
        other => harmless(other),
    };
    text.chars().map(plain).collect()
}

/// Lines as they are, without what drives a terminal.
pub(crate) fn lines(text: &str) -> String {
    let plain = |char: char| match char {
        '\n' | '\t' => char,
        other => harmless(other),
    };
    text.chars().map(plain).collect()
}

/// A character that neither drives a terminal nor changes the direction in which it shows the others.
fn harmless(char: char) -> char {
    let turns = matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if char.is_control() || turns { char::REPLACEMENT_CHARACTER } else { char }
}

/// Header and row of pods; `wide` adds address and node.
pub(super) fn pod_header(wide: bool) -> Vec<&'static str> {
    let mut header = vec!["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"];
    if wide {
        header.extend(["IP", "NODE", "MESSAGE"]);
    }
    header
}

/// One pod.
pub(super) fn pod_row(pod: &Pod, wide: bool, now: Timestamp) -> Vec<String> {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.container_statuses.as_deref().unwrap_or_default();
    let requested = pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
    let created = pod.metadata.creation_timestamp.as_ref().or(status.start_time.as_ref());
    let mut row = vec![
        pod.metadata.namespace.clone().unwrap_or_default(),
        pod.metadata.name.clone().unwrap_or_default(),
        format!("{}/{requested}", containers.iter().filter(|c| c.ready).count()),
        pod_reason(pod, &status),
        restarts(containers, now),
        created.map_or_else(|| "<unknown>".into(), |at| age(now, at.0)),
    ];
    if wide {
        row.push(status.pod_ip.clone().unwrap_or_else(|| "<none>".into()));
        row.push(pod.spec.as_ref().and_then(|s| s.node_name.clone()).unwrap_or_else(|| "<none>".into()));
        row.push(pod_message(&status).unwrap_or_default());
    }
    row
}

/// The STATUS column: the pod's reason, else the most telling one of its containers.
fn pod_reason(pod: &Pod, status: &PodStatus) -> String {
    if pod.metadata.deletion_timestamp.is_some() {
        return "Terminating".into();
    }
    let mut reason =
        status.reason.clone().or_else(|| status.phase.clone()).unwrap_or_else(|| "Unknown".into());
    let containers = status.container_statuses.as_deref().unwrap_or_default();
    let mut has_running = false;
    for container in containers.iter().rev() {
        let Some(state) = &container.state else { continue };
        let waiting = state.waiting.as_ref().and_then(|w| w.reason.clone()).filter(|r| !r.is_empty());
        if let Some(word) = waiting {
            reason = word;
        } else if let Some(ended) = &state.terminated {
            reason =
                match (ended.reason.as_deref().filter(|r| !r.is_empty()), ended.signal.unwrap_or_default()) {
                    (Some(word), _) => word.to_owned(),
                    (None, 0) => format!("ExitCode:{}", ended.exit_code),
                    (None, signal) => format!("Signal:{signal}"),
                };
        } else if container.ready && state.running.is_some() {
            has_running = true;
        }
    }
    if reason == "Completed" && has_running {
        let ready = status.conditions.iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True");
        return if ready { "Running" } else { "NotReady" }.into();
    }
    reason
}

/// The pod's message, or that of the first container that waits with one.
fn pod_message(status: &PodStatus) -> Option<String> {
    let waiting = || {
        let containers = status.container_statuses.iter().flatten();
        containers.filter_map(|c| c.state.as_ref()?.waiting.as_ref()?.message.clone()).find(|m| !m.is_empty())
    };
    status.message.clone().filter(|m| !m.is_empty()).or_else(waiting)
}

/// The RESTARTS column: how often, and how long ago the last time was.
fn restarts(containers: &[ContainerStatus], now: Timestamp) -> String {
    let count: i32 = containers.iter().map(|c| c.restart_count).sum();
    let ended = |c: &ContainerStatus| {
        let last = c.last_state.as_ref()?.terminated.as_ref()?;
        last.finished_at.as_ref().map(|at| at.0)
    };
    match containers.iter().filter_map(ended).max() {
        Some(last) if count > 0 => format!("{count} ({} ago)", age(now, last)),
        Some(_) | None => count.to_string(),
    }
}

/// How long ago, in kubectl's short form (`duration.HumanDuration`).
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests;
