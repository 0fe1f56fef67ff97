//! The plugin file: `host/wasm`.

use std::collections::BTreeSet;

use witlet_wasm::plugin::config::{FILE_BYTES_MAX, PLUGINS_MAX, SECRETS_MAX, Shipped, WARM_MAX, parse};

use crate::{Target, check_message};

pub(crate) const TARGET: Target = Target {
    name: "plugin_configuration",
    run,
    words: &[
        "apiVersion: witlet.dev/v1alpha1\n",
        "kind: PluginConfiguration\n",
        "plugins:\n",
        "- name: a\n",
        "  component: a.wasm\n",
        "  component: builtin:shipped\n",
        "  component: oci://localhost:5000/a@sha256:",
        "  admission: {}\n",
        "  probe: {type: a}\n",
        "  podSource: {allow: {namespaces: [a]}}\n",
        "  limits: {timeout: 1s, memory: 16Mi}\n",
        "  grants:\n",
        "    network:\n    - host: a\n      ports: [80]\n",
        "    files:\n    - path: /a\n      mount: /b\n",
        "    secrets: [a]\n",
        "    exec: true\n",
        "    state: 1Mi\n",
        "secrets:\n- name: a\n  file: a\n",
        "  instances: {warm: {max: 1, uses: 1, idle: 1s}}\n",
        "  record: {max: 1}\n",
        "  config: {a: [1, null]}\n",
        "  mode: shadow\n",
        "  order: 1\n",
        "  matches:\n",
        "pullCredentials: a\n",
        "requireConformance:\n",
        "  keys:\n  - file: a\n",
        "  conformance: a\n",
        "interval: 1s",
        "onFailure: ",
        "namespaces: ['*']\n",
        "10.0.0.0/8",
        "::/0",
        "*.example.com",
        "1Gi",
        "0s",
        "100ms",
        "shipped-name",
    ],
};

const SHIPPED: Shipped<'_> =
    Shipped { reserved: &["shipped-name"], probe_types: &["exec"], components: &["shipped"] };

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let found = parse(text, SHIPPED);
    assert_eq!(found, parse(text, SHIPPED), "the same text is the same configuration");
    let found = match found {
        Ok(found) => found,
        Err(error) => return check_message(&error.to_string(), 0),
    };
    assert!(text.len() <= FILE_BYTES_MAX);
    assert!(found.plugins.len() <= PLUGINS_MAX && found.secrets.len() <= SECRETS_MAX);
    let names: BTreeSet<&str> = found.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names.len(), found.plugins.len(), "each name is there once");
    for plugin in &found.plugins {
        assert!(!SHIPPED.reserved.contains(&plugin.name.as_str()));
        let roles = [plugin.admission.is_some(), plugin.probe.is_some(), plugin.pod_source.is_some()];
        assert!(roles.contains(&true), "{} has no role", plugin.name);
        assert!(plugin.warm.is_none_or(|warm| (1..=WARM_MAX).contains(&warm.max) && warm.uses > 0));
        serde_json::to_string(&plugin.config).expect("a configuration becomes JSON");
    }
}
