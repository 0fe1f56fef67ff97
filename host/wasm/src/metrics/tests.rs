//! What is recorded can be read again, in numbers and as Prometheus' text.

use std::time::Duration;

use expect_test::expect;
use proptest::prelude::*;
use witlet_core::stats::exposition::written;
use witlet_ports::MetricsSource as _;

use super::*;

fn call(outcome: CallOutcome, took: Duration) -> Call {
    Call { outcome, took, memory_bytes_peak: 65_536, cpu: took / 2 }
}

fn text(metrics: &Metrics) -> String {
    written(|to| metrics.write(to)).expect("it is small")
}

#[test]
fn every_outcome_is_listed_once_at_its_own_place() {
    let names: BTreeSet<&str> = CallOutcome::ALL.into_iter().map(CallOutcome::as_str).collect();
    assert_eq!(names.len(), CallOutcome::ALL.len());
    for (place, outcome) in CallOutcome::ALL.into_iter().enumerate() {
        assert_eq!(outcome as usize, place, "{outcome:?}");
    }
    for (place, role) in Role::ALL.into_iter().enumerate() {
        assert_eq!(role as usize, place, "{role:?}");
    }
}

#[test]
fn calls_are_counted_by_outcome_and_only_calls_that_ran_have_a_duration() {
    let metrics = Metrics::default();
    let plugin = metrics.plugin("p");
    let role = plugin.role(Role::Admission);
    role.record(call(CallOutcome::Admit, Duration::from_micros(20)));
    role.record(call(CallOutcome::Admit, Duration::from_micros(30)));
    role.record(call(CallOutcome::TimedOut, Duration::from_millis(100)));
    role.record(call(CallOutcome::Quarantined, Duration::ZERO));
    assert_eq!((role.calls(), role.errors()), (4, 2));
    assert_eq!(role.duration().counts().iter().sum::<u64>(), 3);
    assert_eq!(role.calls_with(CallOutcome::Admit), 2);
    assert_eq!(role.memory_bytes_peak(), 65_536);
}

#[test]
fn quantiles_are_even_within_a_bucket() {
    let observed = |micros: &[u64]| {
        let histogram = Histogram::default();
        micros.iter().for_each(|time| histogram.observe(Duration::from_micros(*time)));
        histogram
    };
    let micros = |histogram: &Histogram, share| histogram.quantile(share).map(|time| time.as_micros());
    assert_eq!(micros(&observed(&[]), 0.5), None);
    // All in the bucket from 10 to 25.
    assert_eq!(micros(&observed(&[12, 12, 12, 12]), 0.5), Some(17));
    assert_eq!(micros(&observed(&[12, 12, 12, 12]), 1.0), Some(25));
    // A bound belongs to the bucket that it ends.
    assert_eq!(micros(&observed(&[10]), 1.0), Some(10));
    // 98 fast ones, 2 slow ones: p50 is fast, p99 is slow.
    let mixed: Vec<u64> = std::iter::repeat_n(8, 98).chain([900, 900]).collect();
    assert!(micros(&observed(&mixed), 0.5).expect("something was observed") < 10);
    assert!(micros(&observed(&mixed), 0.99).expect("something was observed") > 500);
    // Longer than anything that is distinguished.
    assert_eq!(micros(&observed(&[90_000_000]), 0.99), Some(30_000_000));
}

#[test]
fn a_busy_instance_is_counted_until_its_call_is_over() {
    let plugin = PluginMetrics::default();
    let role = plugin.role(Role::Probe);
    let (first, second) = (role.begin(), role.begin());
    assert_eq!(role.busy(), 2);
    drop(first);
    assert_eq!(role.busy(), 1);
    drop(second);
    assert_eq!(role.busy(), 0);
}

#[test]
fn a_plugin_keeps_its_numbers_over_a_reload_and_loses_them_with_its_name() {
    let metrics = Metrics::default();
    metrics.plugin("stays").role(Role::Admission).record(call(CallOutcome::Admit, Duration::ZERO));
    metrics.plugin("goes").role(Role::Admission).record(call(CallOutcome::Admit, Duration::ZERO));
    metrics.retain(["stays"]);
    assert_eq!(metrics.plugin("stays").role(Role::Admission).calls(), 1);
    assert_eq!(metrics.plugin("goes").role(Role::Admission).calls(), 0);
}

/// Of one plugin that has done everything, and one that doesn't load.
fn rich() -> Metrics {
    let metrics = Metrics::default();
    let plugin = metrics.plugin("no-latest-tag");
    plugin.record_load(LoadOutcome::Loaded);
    plugin.record_shadow(true);
    plugin.record_shadow(false);
    plugin.record_shadow_without_verdict(NoVerdict::Skipped);
    let role = plugin.role(Role::Admission);
    role.record(call(CallOutcome::Admit, Duration::from_micros(30)));
    role.record(call(CallOutcome::Reject, Duration::from_secs(60)));
    role.set_warm(3);
    role.set_quarantined(true);
    let digest = "ab12".to_owned();
    plugin.set_running(Some(RunningCode { digest, roles: vec![Role::Admission, Role::Probe] }));
    plugin.set_rollout(Some(RolloutNumbers { of: "old".into(), percent: 20, is_reverted: false }));
    metrics.set_configuration_refused(true);
    metrics.plugin("fails").record_load(LoadOutcome::Failed);
    metrics
}

#[test]
fn prometheus_can_read_it() {
    let text = text(&rich());
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("_bucket{")).collect();
    expect![[r##"
        # HELP witlet_plugin_calls_total Calls of the plugin by what came of them
        # TYPE witlet_plugin_calls_total counter
        witlet_plugin_calls_total{plugin="no-latest-tag",role="admission",outcome="admit"} 1
        witlet_plugin_calls_total{plugin="no-latest-tag",role="admission",outcome="reject"} 1
        # HELP witlet_plugin_call_duration_seconds How long the plugin's calls took, in seconds
        # TYPE witlet_plugin_call_duration_seconds histogram
        witlet_plugin_call_duration_seconds_sum{plugin="no-latest-tag",role="admission"} 60.00003
        witlet_plugin_call_duration_seconds_count{plugin="no-latest-tag",role="admission"} 2
        # HELP witlet_plugin_cpu_seconds_total CPU time of the plugin's calls
        # TYPE witlet_plugin_cpu_seconds_total counter
        witlet_plugin_cpu_seconds_total{plugin="no-latest-tag",role="admission"} 30.000015
        # HELP witlet_plugin_memory_peak_bytes The most memory that one instance of the plugin had
        # TYPE witlet_plugin_memory_peak_bytes gauge
        witlet_plugin_memory_peak_bytes{plugin="no-latest-tag",role="admission"} 65536
        # HELP witlet_plugin_quarantined 1 while the plugin is in quarantine
        # TYPE witlet_plugin_quarantined gauge
        witlet_plugin_quarantined{plugin="no-latest-tag",role="admission"} 1
        # HELP witlet_plugin_quarantines_total Quarantines that began
        # TYPE witlet_plugin_quarantines_total counter
        witlet_plugin_quarantines_total{plugin="no-latest-tag",role="admission"} 1
        # HELP witlet_plugin_instances Instances of the plugin: busy with a call, or warm and waiting for the next
        # TYPE witlet_plugin_instances gauge
        witlet_plugin_instances{plugin="no-latest-tag",role="admission",state="busy"} 0
        witlet_plugin_instances{plugin="no-latest-tag",role="admission",state="warm"} 3
        # HELP witlet_plugin_loads_total Times that the plugin was loaded, or couldn't be
        # TYPE witlet_plugin_loads_total counter
        witlet_plugin_loads_total{plugin="fails",outcome="loaded"} 0
        witlet_plugin_loads_total{plugin="fails",outcome="failed"} 1
        witlet_plugin_loads_total{plugin="no-latest-tag",outcome="loaded"} 1
        witlet_plugin_loads_total{plugin="no-latest-tag",outcome="failed"} 0
        # HELP witlet_plugin_ready 1 if the plugin's code is loaded
        # TYPE witlet_plugin_ready gauge
        witlet_plugin_ready{plugin="fails"} 0
        witlet_plugin_ready{plugin="no-latest-tag"} 1
        # HELP witlet_plugin_info The component that the plugin runs, in each of its roles
        # TYPE witlet_plugin_info gauge
        witlet_plugin_info{plugin="no-latest-tag",digest="ab12",role="admission"} 1
        witlet_plugin_info{plugin="no-latest-tag",digest="ab12",role="probe"} 1
        # HELP witlet_plugin_configuration_valid 1 if the newest content of the plugin configuration is taken, 0 if it is refused or missing
        # TYPE witlet_plugin_configuration_valid gauge
        witlet_plugin_configuration_valid 0
        # HELP witlet_plugin_shadow_verdicts_total Verdicts of a shadow, by whether they were what the others decided
        # TYPE witlet_plugin_shadow_verdicts_total counter
        witlet_plugin_shadow_verdicts_total{plugin="no-latest-tag",agrees="true"} 1
        witlet_plugin_shadow_verdicts_total{plugin="no-latest-tag",agrees="false"} 1
        # HELP witlet_plugin_shadow_without_verdict_total Questions on which a shadow had no verdict, because it failed or wasn't asked
        # TYPE witlet_plugin_shadow_without_verdict_total counter
        witlet_plugin_shadow_without_verdict_total{plugin="no-latest-tag",reason="failed"} 0
        witlet_plugin_shadow_without_verdict_total{plugin="no-latest-tag",reason="skipped"} 1
        # HELP witlet_plugin_rollout_percent The share of pods that the plugin judges in the place of another one, in percent
        # TYPE witlet_plugin_rollout_percent gauge
        witlet_plugin_rollout_percent{plugin="no-latest-tag",of="old"} 20
        # HELP witlet_plugin_rollout_reverted 1 if the plugin exceeded its error budget, and the one that it replaces judges all pods again
        # TYPE witlet_plugin_rollout_reverted gauge
        witlet_plugin_rollout_reverted{plugin="no-latest-tag",of="old"} 0"##]]
    .assert_eq(&lines.join("\n"));
    // Buckets are summed up in the text.
    for (le, count) in [("2.5e-05", "0"), ("5e-05", "1"), ("30", "1"), ("+Inf", "2")] {
        let labels = format!(r#"plugin="no-latest-tag",role="admission",le="{le}""#);
        let bucket = format!("witlet_plugin_call_duration_seconds_bucket{{{labels}}} {count}");
        assert!(text.lines().any(|line| line == bucket), "no {bucket}:\n{text}");
    }
}

#[test]
fn numbers_of_plugins_own_are_families_of_their_names() {
    let metrics = Metrics::default();
    for plugin in ["one", "two"] {
        let metrics = metrics.plugin(plugin);
        let custom = metrics.custom();
        custom.add("denied".to_owned(), vec![("rule".to_owned(), "a \"b\"\n".to_owned())], 3);
        custom.observe("size".to_owned(), Vec::new(), 2.0);
    }
    metrics.plugin("one").custom().add("Bad".to_owned(), Vec::new(), 1);
    let text = text(&metrics);
    let custom = |line: &&str| {
        (line.contains("_custom_") || line.contains("_dropped_"))
            && (!line.contains("_bucket{") || line.contains(r#"le="2.5""#) || line.contains("+Inf"))
    };
    let lines: Vec<&str> = text.lines().filter(custom).collect();
    expect![[r##"
        # HELP witlet_plugin_custom_denied_total A counter of plugins' own
        # TYPE witlet_plugin_custom_denied_total counter
        witlet_plugin_custom_denied_total{plugin="one",rule="a \"b\"\n"} 3
        witlet_plugin_custom_denied_total{plugin="two",rule="a \"b\"\n"} 3
        # HELP witlet_plugin_custom_size A histogram of plugins' own
        # TYPE witlet_plugin_custom_size histogram
        witlet_plugin_custom_size_bucket{plugin="one",le="2.5"} 1
        witlet_plugin_custom_size_bucket{plugin="one",le="+Inf"} 1
        witlet_plugin_custom_size_sum{plugin="one"} 2
        witlet_plugin_custom_size_count{plugin="one"} 1
        witlet_plugin_custom_size_bucket{plugin="two",le="2.5"} 1
        witlet_plugin_custom_size_bucket{plugin="two",le="+Inf"} 1
        witlet_plugin_custom_size_sum{plugin="two"} 2
        witlet_plugin_custom_size_count{plugin="two"} 1
        # HELP witlet_plugin_metrics_dropped_total What plugins counted beyond the bounds of their own metrics, which is left out
        # TYPE witlet_plugin_metrics_dropped_total counter
        witlet_plugin_metrics_dropped_total{plugin="one",reason="name"} 1"##]]
    .assert_eq(&lines.join("\n"));
}

proptest! {
    #[test]
    fn a_quantile_lies_in_the_bucket_of_an_observed_time(
        micros in prop::collection::vec(0u64..40_000_000, 1..50),
        share in 0.0f64..=1.0,
    ) {
        let histogram = Histogram::default();
        for time in &micros {
            histogram.observe(Duration::from_micros(*time));
        }
        let found = histogram.quantile(share).expect("something was observed");
        let bucket = |time: Duration| BUCKETS.partition_point(|bound| *bound < time).min(BUCKETS.len() - 1);
        let near = |time: &u64| {
            let place = bucket(Duration::from_micros(*time));
            // A quantile at the very edge of a bucket counts as the end of the one before.
            (place.saturating_sub(1)..=place).contains(&bucket(found))
        };
        prop_assert!(micros.iter().any(near), "{found:?} of {micros:?}");
    }
}
