//! The numbers as Prometheus reads them, by upstream's conventions: base units, counters end in `_total`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::MetricsSource;

use super::custom::{self, CustomNumbers, Observations, PREFIX, Series};
use super::{BUCKETS, CallOutcome, Metrics, NoVerdict, PluginMetrics, RoleMetrics};
use crate::role::Role;

type All = [(Arc<str>, Arc<PluginMetrics>)];

impl MetricsSource for Metrics {
    fn write(&self, to: &mut Exposition) {
        let all = self.all();
        calls(to, &all);
        durations(to, &all);
        let help = "CPU time of the plugin's calls";
        each_role(to, &all, ("witlet_plugin_cpu_seconds_total", help, Kind::Counter), |role| {
            role.cpu().as_secs_f64()
        });
        let help = "The most memory that one instance of the plugin had";
        each_role(to, &all, ("witlet_plugin_memory_peak_bytes", help, Kind::Gauge), |role| {
            role.memory_bytes_peak() as f64
        });
        let help = "1 while the plugin is in quarantine";
        each_role(to, &all, ("witlet_plugin_quarantined", help, Kind::Gauge), |role| {
            f64::from(u8::from(role.quarantined.load(Relaxed)))
        });
        let help = "Quarantines that began";
        each_role(to, &all, ("witlet_plugin_quarantines_total", help, Kind::Counter), |role| {
            role.quarantines.load(Relaxed) as f64
        });
        instances(to, &all);
        loads(to, &all);
        running(to, &all);
        let is_valid = !self.configuration_refused.load(Relaxed);
        let help =
            "1 if the newest content of the plugin configuration is taken, 0 if it is refused or missing";
        to.gauge("witlet_plugin_configuration_valid", help, f64::from(u8::from(is_valid)));
        shadows(to, &all);
        shadows_without_verdict(to, &all);
        rollouts(to, &all);
        data(to, &all);
        custom(to, &all);
    }
}

/// Returns all plugins in all roles that they were used in.
fn roles(all: &All) -> impl Iterator<Item = (&str, Role, &RoleMetrics)> {
    all.iter().flat_map(|(name, plugin)| {
        Role::ALL
            .into_iter()
            .filter_map(move |role| plugin.role_if_used(role).map(|metrics| (&**name, role, metrics)))
    })
}

fn each_role(
    to: &mut Exposition,
    all: &All,
    (name, help, kind): (&str, &str, Kind),
    value: impl Fn(&RoleMetrics) -> f64,
) {
    let mut family = to.family(name, help, kind);
    for (plugin, role, metrics) in roles(all) {
        family.sample(&[("plugin", plugin), ("role", role.as_str())], value(metrics));
    }
}

/// Outcomes that never were have no series: there are many kinds of them.
fn calls(to: &mut Exposition, all: &All) {
    let help = "Calls of the plugin by what came of them";
    let mut family = to.family("witlet_plugin_calls_total", help, Kind::Counter);
    for (plugin, role, metrics) in roles(all) {
        for outcome in CallOutcome::ALL {
            let count = metrics.calls_with(outcome);
            if count > 0 {
                let labels = [("plugin", plugin), ("role", role.as_str()), ("outcome", outcome.as_str())];
                family.sample(&labels, count as f64);
            }
        }
    }
}

fn durations(to: &mut Exposition, all: &All) {
    let help = "How long the plugin's calls took, in seconds";
    let mut family = to.family("witlet_plugin_call_duration_seconds", help, Kind::Histogram);
    for (plugin, role, metrics) in roles(all) {
        let bounds = BUCKETS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
        let (buckets, sum) = (bounds.zip(metrics.duration().counts()), metrics.duration().sum());
        family.histogram(&[("plugin", plugin), ("role", role.as_str())], buckets, sum.as_secs_f64());
    }
}

fn instances(to: &mut Exposition, all: &All) {
    let help = "Instances of the plugin: busy with a call, or warm and waiting for the next";
    let mut family = to.family("witlet_plugin_instances", help, Kind::Gauge);
    for (plugin, role, metrics) in roles(all) {
        for (state, count) in [("busy", metrics.busy()), ("warm", metrics.warm())] {
            family.sample(&[("plugin", plugin), ("role", role.as_str()), ("state", state)], count as f64);
        }
    }
}

fn loads(to: &mut Exposition, all: &All) {
    let help = "Times that the plugin was loaded, or couldn't be";
    let mut family = to.family("witlet_plugin_loads_total", help, Kind::Counter);
    for (name, plugin) in all {
        for (outcome, count) in [("loaded", &plugin.loaded), ("failed", &plugin.failed)] {
            family.sample(&[("plugin", name), ("outcome", outcome)], count.load(Relaxed) as f64);
        }
    }
}

fn running(to: &mut Exposition, all: &All) {
    let mut family = to.family("witlet_plugin_ready", "1 if the plugin's code is loaded", Kind::Gauge);
    for (name, plugin) in all {
        let is_ready = plugin.running().is_some();
        family.sample(&[("plugin", name)], f64::from(u8::from(is_ready)));
    }
    let help = "The component that the plugin runs, in each of its roles";
    let mut family = to.family("witlet_plugin_info", help, Kind::Gauge);
    for (name, plugin) in all {
        let Some(running) = plugin.running() else { continue };
        for role in &running.roles {
            family.sample(&[("plugin", name), ("digest", &running.digest), ("role", role.as_str())], 1.0);
        }
    }
}

/// Counters and histograms of plugins' own: a family for each name, for all plugins that have it.
fn custom(to: &mut Exposition, all: &All) {
    let of_all: Vec<(&str, CustomNumbers)> =
        all.iter().map(|(name, plugin)| (&**name, plugin.custom().numbers())).collect();
    let mut counters: BTreeMap<&str, Vec<(&str, &Series, u64)>> = BTreeMap::new();
    let mut histograms: BTreeMap<&str, Vec<(&str, &Series, &Observations)>> = BTreeMap::new();
    for (plugin, numbers) in &of_all {
        for (series, count) in &numbers.counters {
            counters.entry(&*series.name).or_default().push((*plugin, series, *count));
        }
        for (series, observations) in &numbers.histograms {
            histograms.entry(&*series.name).or_default().push((*plugin, series, observations));
        }
    }
    for (name, samples) in counters {
        let name = format!("{PREFIX}{name}_total");
        let mut family = to.family(&name, "A counter of plugins' own", Kind::Counter);
        for (plugin, series, count) in samples {
            family.sample(&labels(plugin, series), count as f64);
        }
    }
    for (name, samples) in histograms {
        let name = format!("{PREFIX}{name}");
        let mut family = to.family(&name, "A histogram of plugins' own", Kind::Histogram);
        for (plugin, series, observations) in samples {
            let bounds = custom::BUCKETS.into_iter().chain([f64::INFINITY]);
            family.histogram(&labels(plugin, series), bounds.zip(observations.counts), observations.sum);
        }
    }
    let help = "What plugins counted beyond the bounds of their own metrics, which is left out";
    let mut family = to.family("witlet_plugin_metrics_dropped_total", help, Kind::Counter);
    for (plugin, numbers) in &of_all {
        for (reason, count) in numbers.left_out() {
            family.sample(&[("plugin", plugin), ("reason", reason)], count as f64);
        }
    }
}

/// Returns those of a plugin's series, its name first.
fn labels<'a>(plugin: &'a str, series: &'a Series) -> Vec<(&'a str, &'a str)> {
    let own = series.labels.iter().map(|(key, value)| (&**key, &**value));
    std::iter::once(("plugin", plugin)).chain(own).collect()
}

/// Only of plugins that have data.
fn data(to: &mut Exposition, all: &All) {
    let of_all: Vec<_> = all.iter().map(|(name, plugin)| (name, plugin.data())).collect();
    let each = || of_all.iter().flat_map(|(name, data)| data.iter().map(move |data| (&***name, data)));
    let help = "Data that the plugin has next to its configuration";
    let mut family = to.family("witlet_plugin_data_info", help, Kind::Gauge);
    for (plugin, data) in each() {
        let digest = data.snapshot.digest();
        family.sample(&[("plugin", plugin), ("data", &data.name), ("digest", digest)], 1.0);
    }
    let help = "1 while the newest data of the plugin can't be had and the last good ones serve";
    let mut family = to.family("witlet_plugin_data_stale", help, Kind::Gauge);
    for (plugin, data) in each() {
        let is_stale = data.origin.problem().is_some();
        family.sample(&[("plugin", plugin), ("data", &data.name)], f64::from(u8::from(is_stale)));
    }
    let now = Instant::now();
    let help = "1 while the data of the plugin are older than the maxAge of its entry";
    let mut family = to.family("witlet_plugin_data_too_old", help, Kind::Gauge);
    for (plugin, data) in each() {
        let is_too_old = data.is_too_old(now);
        family.sample(&[("plugin", plugin), ("data", &data.name)], f64::from(u8::from(is_too_old)));
    }
}

/// Only of plugins that take another's place.
fn rollouts(to: &mut Exposition, all: &All) {
    let of_all: Vec<_> = all.iter().filter_map(|(name, plugin)| Some((&**name, plugin.rollout()?))).collect();
    let help = "The share of pods that the plugin judges in the place of another one, in percent";
    let mut family = to.family("witlet_plugin_rollout_percent", help, Kind::Gauge);
    for (plugin, numbers) in &of_all {
        family.sample(&[("plugin", plugin), ("of", &numbers.of)], f64::from(numbers.percent));
    }
    let help =
        "1 if the plugin exceeded its error budget, and the one that it replaces judges all pods again";
    let mut family = to.family("witlet_plugin_rollout_reverted", help, Kind::Gauge);
    for (plugin, numbers) in &of_all {
        let is_reverted = f64::from(u8::from(numbers.is_reverted));
        family.sample(&[("plugin", plugin), ("of", &numbers.of)], is_reverted);
    }
}

/// Only of plugins that were ever asked as shadows.
fn shadows(to: &mut Exposition, all: &All) {
    let help = "Verdicts of a shadow, by whether they were what the others decided";
    let mut family = to.family("witlet_plugin_shadow_verdicts_total", help, Kind::Counter);
    for (name, plugin) in all {
        let (agreed, differed) = plugin.shadow_verdicts();
        if agreed + differed == 0 {
            continue;
        }
        for (agrees, count) in [("true", agreed), ("false", differed)] {
            family.sample(&[("plugin", name), ("agrees", agrees)], count as f64);
        }
    }
}

/// Only of plugins that had such a question.
fn shadows_without_verdict(to: &mut Exposition, all: &All) {
    let help = "Questions on which a shadow had no verdict, because it failed or wasn't asked";
    let mut family = to.family("witlet_plugin_shadow_without_verdict_total", help, Kind::Counter);
    for (name, plugin) in all {
        let counts = NoVerdict::ALL.map(|why| (why, plugin.shadow_without_verdict(why)));
        if counts.iter().all(|(_, count)| *count == 0) {
            continue;
        }
        for (why, count) in counts {
            family.sample(&[("plugin", name), ("reason", why.as_str())], count as f64);
        }
    }
}
