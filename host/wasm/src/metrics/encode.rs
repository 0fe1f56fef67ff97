//! The numbers as Prometheus reads them, by upstream's conventions: base units, counters end in `_total`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::{BUCKETS, CallOutcome, Metrics, PluginMetrics, RoleMetrics};
use crate::role::Role;

type All = [(Arc<str>, Arc<PluginMetrics>)];

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.all();
        calls(&mut encoder, &all)?;
        durations(&mut encoder, &all)?;
        each_role(
            &mut encoder,
            &all,
            ("witlet_plugin_cpu_seconds", "CPU time of the plugin's calls", MetricType::Counter),
            |metric, role| metric.encode_counter::<NoLabelSet, _, f64>(&role.cpu().as_secs_f64(), None),
        )?;
        each_role(
            &mut encoder,
            &all,
            (
                "witlet_plugin_memory_peak_bytes",
                "The most memory that one instance of the plugin had",
                MetricType::Gauge,
            ),
            |metric, role| metric.encode_gauge(&role.memory_bytes_peak()),
        )?;
        each_role(
            &mut encoder,
            &all,
            ("witlet_plugin_quarantined", "1 while the plugin is in quarantine", MetricType::Gauge),
            |metric, role| {
                let quarantined = role.quarantined.load(std::sync::atomic::Ordering::Relaxed);
                metric.encode_gauge(&u64::from(quarantined))
            },
        )?;
        each_role(
            &mut encoder,
            &all,
            ("witlet_plugin_quarantines", "Quarantines that began", MetricType::Counter),
            |metric, role| {
                let count = role.quarantines.load(std::sync::atomic::Ordering::Relaxed);
                metric.encode_counter::<NoLabelSet, _, f64>(&count, None)
            },
        )?;
        instances(&mut encoder, &all)?;
        loads(&mut encoder, &all)?;
        running(&mut encoder, &all)?;
        let refused = self.configuration_refused.load(std::sync::atomic::Ordering::Relaxed);
        let help =
            "1 if the newest content of the plugin configuration is taken, 0 if it is refused or missing";
        let name = "witlet_plugin_configuration_valid";
        let mut valid = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        valid.encode_gauge(&u64::from(!refused))?;
        shadows(&mut encoder, &all)
    }
}

/// All plugins in all roles that they were used in.
fn roles(all: &All) -> impl Iterator<Item = (&str, Role, &RoleMetrics)> {
    all.iter().flat_map(|(name, plugin)| {
        Role::ALL
            .into_iter()
            .filter_map(move |role| plugin.role_if_used(role).map(|metrics| (&**name, role, metrics)))
    })
}

fn each_role(
    encoder: &mut DescriptorEncoder<'_>,
    all: &All,
    (name, help, kind): (&str, &str, MetricType),
    write: impl Fn(&mut MetricEncoder<'_>, &RoleMetrics) -> fmt::Result,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (plugin, role, metrics) in roles(all) {
        let labels = [("plugin", plugin), ("role", role.as_str())];
        write(&mut metric.encode_family(&labels)?, metrics)?;
    }
    Ok(())
}

/// Outcomes that never were have no series: there are many kinds of them.
fn calls(encoder: &mut DescriptorEncoder<'_>, all: &All) -> fmt::Result {
    let help = "Calls of the plugin by what came of them";
    let mut metric = encoder.encode_descriptor("witlet_plugin_calls", help, None, MetricType::Counter)?;
    for (plugin, role, metrics) in roles(all) {
        for outcome in CallOutcome::ALL {
            let count = metrics.calls_with(outcome);
            if count > 0 {
                let labels = [("plugin", plugin), ("role", role.as_str()), ("outcome", outcome.as_str())];
                metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
            }
        }
    }
    Ok(())
}

fn durations(encoder: &mut DescriptorEncoder<'_>, all: &All) -> fmt::Result {
    let help = "How long the plugin's calls took, in seconds";
    let name = "witlet_plugin_call_duration_seconds";
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (plugin, role, metrics) in roles(all) {
        let labels = [("plugin", plugin), ("role", role.as_str())];
        let counts = metrics.duration().counts();
        let bounds = BUCKETS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let (sum, count) = (metrics.duration().sum().as_secs_f64(), counts.iter().sum());
        metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
    }
    Ok(())
}

fn instances(encoder: &mut DescriptorEncoder<'_>, all: &All) -> fmt::Result {
    let help = "Instances of the plugin: busy with a call, or warm and waiting for the next";
    let mut metric = encoder.encode_descriptor("witlet_plugin_instances", help, None, MetricType::Gauge)?;
    for (plugin, role, metrics) in roles(all) {
        for (state, count) in [("busy", metrics.busy()), ("warm", metrics.warm())] {
            let labels = [("plugin", plugin), ("role", role.as_str()), ("state", state)];
            metric.encode_family(&labels)?.encode_gauge(&count)?;
        }
    }
    Ok(())
}

fn loads(encoder: &mut DescriptorEncoder<'_>, all: &All) -> fmt::Result {
    use std::sync::atomic::Ordering::Relaxed;
    let help = "Times that the plugin was loaded, or couldn't be";
    let mut metric = encoder.encode_descriptor("witlet_plugin_loads", help, None, MetricType::Counter)?;
    for (name, plugin) in all {
        for (outcome, count) in [("loaded", &plugin.loaded), ("failed", &plugin.failed)] {
            let labels = [("plugin", &**name), ("outcome", outcome)];
            metric
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, _, f64>(&count.load(Relaxed), None)?;
        }
    }
    Ok(())
}

fn running(encoder: &mut DescriptorEncoder<'_>, all: &All) -> fmt::Result {
    let help = "1 if the plugin's code is loaded";
    let mut metric = encoder.encode_descriptor("witlet_plugin_ready", help, None, MetricType::Gauge)?;
    for (name, plugin) in all {
        let is_ready = u64::from(plugin.running().is_some());
        metric.encode_family(&[("plugin", &**name)])?.encode_gauge(&is_ready)?;
    }
    let help = "The component that the plugin runs, in each of its roles";
    let mut metric = encoder.encode_descriptor("witlet_plugin_info", help, None, MetricType::Gauge)?;
    for (name, plugin) in all {
        let Some(running) = plugin.running() else { continue };
        for role in &running.roles {
            let labels = [("plugin", &**name), ("digest", &running.digest), ("role", role.as_str())];
            metric.encode_family(&labels)?.encode_gauge(&1_u64)?;
        }
    }
    Ok(())
}

/// Only of plugins that were ever asked as shadows.
fn shadows(encoder: &mut DescriptorEncoder<'_>, all: &All) -> fmt::Result {
    let help = "Verdicts of a shadow, by whether they were what the others decided";
    let name = "witlet_plugin_shadow_verdicts";
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (name, plugin) in all {
        let (agreed, differed) = plugin.shadow_verdicts();
        if agreed + differed == 0 {
            continue;
        }
        for (agrees, count) in [("true", agreed), ("false", differed)] {
            let labels = [("plugin", &**name), ("agrees", agrees)];
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
        }
    }
    Ok(())
}
