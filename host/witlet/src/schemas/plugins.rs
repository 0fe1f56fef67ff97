//! Statuses of plugins, in which every field has a value somewhere.

use serde_json::Value;
use witlet_core::admission::chain::FailurePolicy;
use witlet_core::admission::rollout::{RevertReason, RolloutPhase};
use witlet_wasm::plugin::{
    ConformanceStatus, DataStatus, Difference, PluginState, PluginStatus, RoleStatus, RolloutStatus,
    ShadowReport, SignatureStatus,
};
use witlet_wasm::role::Role;

/// A handler that has everything.
fn role() -> RoleStatus {
    RoleStatus {
        role: Role::Admission,
        version: Some("0.1.0"),
        quarantine_seconds: Some(7.5),
        calls: 12,
        errors: 1,
        timeouts: 1,
        p50_seconds: Some(0.1),
        p99_seconds: Some(0.2),
        seconds_total: 1.0,
        cpu_seconds: 0.5,
        memory_bytes_peak: 1 << 20,
        warm_instances: 2,
        in_flight: 1,
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A plugin that has everything.
fn complete(role: RoleStatus) -> PluginStatus {
    let difference = Difference {
        pod: "default/web".to_owned(),
        uid: "u-1".to_owned(),
        time: "1970-01-01T00:00:00Z".to_owned(),
        verdict: "admit".to_owned(),
        decision: "reject".to_owned(),
    };
    PluginStatus {
        name: "images".to_owned(),
        builtin: false,
        component: "/etc/witlet/images.wasm".to_owned(),
        digest: text("c0dd"),
        size_bytes: Some(100),
        conformance: Some(ConformanceStatus {
            signed_by: "ab".to_owned(),
            key: "/etc/witlet/key.pem".to_owned(),
            kit_version: "0.1.0".to_owned(),
            examined: "1970-01-01T00:00:00Z".to_owned(),
            passed: true,
            config_digest: "cd".to_owned(),
        }),
        signature: Some(SignatureStatus {
            signed_by: "ab".to_owned(),
            key: "/etc/witlet/cosign.pub".to_owned(),
        }),
        data: vec![DataStatus {
            name: "allowed".to_owned(),
            source: "/etc/witlet/allowed.json".to_owned(),
            digest: "ef".to_owned(),
            size_bytes: 7,
            problem: text("it can't be read"),
            age_seconds: Some(90),
            too_old: true,
        }],
        order: Some(-5),
        failure_policy: Some(FailurePolicy::Defer),
        system_pods: Some(false),
        operations: vec!["add", "recheck"],
        probe_type: text("images"),
        shadow: true,
        state: PluginState::Quarantined,
        detail: text("it trapped"),
        pending: text("it doesn't load"),
        warnings: vec!["it wants the grant network".to_owned()],
        last_error: text("it trapped"),
        roles: vec![role],
        shadow_report: Some(ShadowReport { differences: vec![difference], ..ShadowReport::default() }),
        rollout: Some(RolloutStatus {
            of: "old".to_owned(),
            phase: RolloutPhase::Reverted,
            percent: 0,
            step_percent: 100,
            soak_seconds: Some(600.0),
            soaked_seconds: 1.5,
            calls: 20,
            min_calls: 20,
            errors: 2,
            differences: 1,
            reason: Some(RevertReason::ErrorBudgetExceeded),
            message: text("2 of 20 calls failed, which is more than 1%"),
        }),
    }
}

/// One with everything, and one with nothing that may be missing.
pub(super) fn plugins() -> Vec<Value> {
    let role = role();
    let complete = complete(role.clone());
    let role =
        RoleStatus { version: None, quarantine_seconds: None, p50_seconds: None, p99_seconds: None, ..role };
    let least = PluginStatus {
        name: "loading".to_owned(),
        digest: None,
        size_bytes: None,
        conformance: None,
        signature: None,
        data: Vec::new(),
        order: None,
        failure_policy: None,
        system_pods: None,
        operations: Vec::new(),
        probe_type: None,
        state: PluginState::Loading,
        detail: None,
        pending: None,
        warnings: Vec::new(),
        last_error: None,
        roles: vec![role],
        shadow_report: None,
        rollout: None,
        ..complete.clone()
    };
    let json = |status: &PluginStatus| serde_json::to_value(status).expect("it has a JSON form");
    [complete, least].iter().map(json).collect()
}
