//! What monitoring and the local API get.

use std::time::Duration;

use witlet_core::node::plugin_set::{Choice, SetPolicy};
use witlet_core::stats::exposition::written;

use super::*;

const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000001";

fn text(shown: &ShownSet) -> String {
    written(|to| shown.write(to)).expect("it is small")
}

#[test]
fn monitoring_sees_the_state_the_set_and_the_tries() {
    let shown = ShownSet::default();
    let first = text(&shown);
    assert!(!first.contains("witlet_plugin_set_info"), "none serves: {first}");
    assert!(!first.contains("last_attempt"), "none was tried: {first}");
    for line in [
        "witlet_plugin_set_state{state=\"local\"} 1",
        "witlet_plugin_set_state{state=\"not_signed\"} 0",
        "witlet_plugin_set_attempts_total{outcome=\"taken\"} 0",
        "witlet_plugin_set_attempts_total{outcome=\"not_loaded\"} 0",
    ] {
        assert!(first.contains(line), "{line:?} isn't in: {first}");
    }
    let set = format!("oci://registry.example.com/fleet@{DIGEST}");
    let policy =
        SetPolicy { repositories: vec!["registry.example.com/*".to_owned()], jitter: Duration::ZERO };
    let mut sets = PluginSets::new("node", policy, Some(&set));
    shown.set(&sets);
    let at = Timestamp::from_second(1_700_000_000).expect("a time");
    shown.attempted(None, at);
    let other = format!("oci://registry.example.com/fleet@{}", DIGEST.replace("01", "02"));
    sets.choose(&Choice::Set(other), Duration::ZERO);
    sets.refused(Refusal::NotLoaded, "why", Duration::ZERO);
    shown.attempted(Some(Refusal::NotLoaded), at);
    shown.set(&sets);
    let last = text(&shown);
    for line in [
        &*format!("witlet_plugin_set_info{{set=\"{set}\",digest=\"{DIGEST}\"}} 1"),
        "witlet_plugin_set_state{state=\"running\"} 0",
        "witlet_plugin_set_state{state=\"not_loaded\"} 1",
        "witlet_plugin_set_attempts_total{outcome=\"taken\"} 1",
        "witlet_plugin_set_attempts_total{outcome=\"not_loaded\"} 1",
        "witlet_plugin_set_last_attempt_timestamp_seconds 1700000000",
    ] {
        assert!(last.contains(line), "{line:?} isn't in: {last}");
    }
    let json = shown.to_json();
    assert_eq!(json["running"], set);
    assert_eq!(json["digest"], DIGEST);
    assert_eq!(json["state"], "NotLoaded");
    assert_eq!(json["lastAttempt"], "2023-11-14T22:13:20Z");
    assert!(json["message"].as_str().is_some_and(|message| message.ends_with("why")), "{json}");
}
