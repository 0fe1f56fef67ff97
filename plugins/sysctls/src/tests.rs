//! Tests of the handler on whole requests.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Verdict};

use super::{Config, REASON, Sysctls};

fn verdict(spec: Value, allowed: &[&str]) -> Verdict {
    let facts = RequestFacts {
        pod: PodFacts { manifest: json!({ "spec": spec }), ..PodFacts::default() },
        node: NodeFacts {
            facts: vec![("kernel.version".to_owned(), "6.1.0-13-amd64".to_owned())],
            ..NodeFacts::default()
        },
        ..RequestFacts::default()
    };
    let config = Config { allowed_unsafe_sysctls: allowed.iter().map(|name| (*name).to_owned()).collect() };
    Sysctls::validate(&config).expect("a configuration");
    Sysctls::admit(&facts.request(), &config).expect("a verdict")
}

fn sets(names: &[&str]) -> Value {
    let sysctls: Vec<Value> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
    json!({"securityContext": {"sysctls": sysctls}})
}

#[test]
fn the_first_forbidden_sysctl_is_named() {
    let refused = |message: &str| Verdict::reject(REASON, format!("forbidden sysctl: {message}"));
    assert_eq!(verdict(json!({}), &[]), Verdict::Admit);
    assert_eq!(verdict(sets(&[]), &[]), Verdict::Admit);
    assert_eq!(verdict(sets(&["net.ipv4.tcp_rmem", "kernel/shm_rmid_forced"]), &[]), Verdict::Admit);
    assert_eq!(
        verdict(sets(&["net.ipv4.tcp_rmem", "kernel.sem", "foo"]), &[]),
        refused("\"kernel.sem\" not allowlisted")
    );
    assert_eq!(verdict(sets(&["kernel.sem"]), &["kernel.sem"]), Verdict::Admit);
    let on_host = |field: &str, names: &[&str]| {
        let mut spec = sets(names);
        spec[field] = json!(true);
        spec
    };
    assert_eq!(
        verdict(on_host("hostIPC", &["kernel.sem"]), &["kernel.sem"]),
        refused("\"kernel.sem\" not allowed with host ipc enabled")
    );
    assert_eq!(
        verdict(on_host("hostNetwork", &["net.ipv4.tcp_rmem"]), &[]),
        refused("\"net.ipv4.tcp_rmem\" not allowed with host net enabled")
    );
    assert_eq!(verdict(on_host("hostPID", &["net.ipv4.tcp_rmem"]), &[]), Verdict::Admit);
}

#[test]
fn a_wrong_configuration_is_refused_by_its_key() {
    let config: Config =
        serde_json::from_value(json!({"allowedUnsafeSysctls": ["kernel.msg*", "vm.*"]})).expect("it decodes");
    let error = Sysctls::validate(&config).expect_err("vm has no namespace");
    assert_eq!(error.to_string(), "allowedUnsafeSysctls[1]: \"vm.*\" isn't known to be namespaced");
    let misspelt = serde_json::from_value::<Config>(json!({"allowedSysctls": []})).expect_err("misspelt");
    assert!(misspelt.to_string().contains("allowedSysctls"), "{misspelt}");
}
