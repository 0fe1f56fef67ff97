//! The description of Kubernetes' objects that the component has in it.

use serde_json::json;
use witlet_plugin_sdk_0_2::facts::validate;

use crate::Config;
use crate::environment;

/// A check happens once for a configuration, but the text is in memory whenever the component is.
const BYTES_MAX: usize = 24 << 10;

#[test]
fn the_schema_is_whole_and_small() {
    let text = include_str!("../kubernetes.schema");
    assert!(text.len() < BYTES_MAX, "{} bytes", text.len());
    let config: Config = serde_json::from_value(json!({"validations": []})).expect("it decodes");
    assert_eq!(environment::of(&config).schema.dangling(), Vec::<String>::new());
}

#[test]
fn the_chapter_names_every_function() {
    let chapter = include_str!("../../../../docs/src/cel.md");
    let missing: Vec<&str> = witlet_cel::library()
        .map(|(name, _)| name)
        .filter(|name| !chapter.contains(&format!("`{name}`")))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn fields_of_every_part_of_a_pod_are_known() {
    for expression in [
        "object.metadata.ownerReferences.all(o, o.kind != 'Node')",
        "object.metadata.?annotations[?'a'].orValue('') == ''",
        "object.spec.volumes.all(v, !has(v.hostPath) && !has(v.csi) && !has(v.ephemeral.volumeClaimTemplate.spec.storageClassName))",
        "object.spec.volumes.all(v, has(v.image) ? v.image.reference != '' : true)",
        "object.spec.volumes.all(v, has(v.projected) ? v.projected.sources.all(s, !has(s.serviceAccountToken)) : true)",
        "object.spec.initContainers.all(c, has(c.restartPolicy) && c.restartPolicy == 'Always')",
        "object.spec.ephemeralContainers.size() == 0",
        "object.spec.containers.all(c, c.env.all(e, !has(e.valueFrom.secretKeyRef)) && c.envFrom.size() == 0)",
        "object.spec.containers.all(c, c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))",
        "object.spec.containers.all(c, has(c.livenessProbe.httpGet.port) && c.readinessProbe.periodSeconds > 1)",
        "object.spec.containers.all(c, c.securityContext.capabilities.drop.exists(d, d == 'ALL'))",
        "object.spec.securityContext.seccompProfile.type == 'RuntimeDefault' && object.spec.securityContext.sysctls.size() == 0",
        "object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.size() > 0",
        "object.spec.tolerations.all(t, t.operator != 'Exists') && object.spec.topologySpreadConstraints.size() == 0",
        "object.spec.terminationGracePeriodSeconds <= 300 && !object.spec.hostPID && object.spec.dnsPolicy != 'None'",
        "object.spec.resourceClaims.size() == 0 && object.spec.overhead.size() == 0 && object.spec.os.name == 'linux'",
        "object.status.podIPs.all(p, ip(p.ip).family() == 4) && object.status.qosClass == 'BestEffort'",
        "node.spec.taints.all(t, t.effect != 'NoExecute') && node.status.nodeInfo.kernelVersion != ''",
        "node.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
    ] {
        let config: Config =
            serde_json::from_value(json!({"validations": [{"expression": expression}]})).expect("it decodes");
        assert_eq!(validate(&config).map(|_| ()), Ok(()), "{expression}");
    }
}
