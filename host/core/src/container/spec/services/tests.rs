//! Tests of the variables that services give.

use expect_test::{Expect, expect};

use super::*;

fn services(yaml: &str) -> Vec<ServiceAddress> {
    let services: Vec<Service> = serde_saphyr::from_str(yaml).unwrap();
    services.iter().filter_map(ServiceAddress::of).collect()
}

fn check(pod: &str, yaml: &str, expected: Expect) {
    let pod: Pod = serde_saphyr::from_str(pod).unwrap();
    let lines = service_variables(&pod, services(yaml).iter());
    let lines: Vec<String> = lines.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    expected.assert_eq(&lines.join("\n"));
}

const ALL: &str = "
- metadata: {namespace: default, name: kubernetes}
  spec: {clusterIP: 10.96.0.1, ports: [{name: https, port: 443, protocol: TCP}]}
- metadata: {namespace: shop, name: data-base}
  spec: {clusterIP: 'fd00::5', clusterIPs: ['fd00::5', 10.96.0.5],
         ports: [{port: 5432}, {name: m-x, port: 53, protocol: UDP}]}
- metadata: {namespace: shop, name: headless}
  spec: {clusterIP: None, ports: [{port: 80}]}
- metadata: {namespace: shop, name: elsewhere}
  spec: {type: ExternalName, externalName: example.com}
- metadata: {namespace: shop, name: pending}
  spec: {clusterIP: '', ports: [{port: 80}]}
- metadata: {namespace: shop, name: portless}
  spec: {clusterIP: 10.96.0.8}
- metadata: {namespace: other, name: foreign}
  spec: {clusterIP: 10.96.0.9, ports: [{port: 80}]}
";

const KUBERNETES: [&str; 7] = [
    "KUBERNETES_PORT=tcp://10.96.0.1:443",
    "KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443",
    "KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1",
    "KUBERNETES_PORT_443_TCP_PORT=443",
    "KUBERNETES_PORT_443_TCP_PROTO=tcp",
    "KUBERNETES_SERVICE_HOST=10.96.0.1",
    "KUBERNETES_SERVICE_PORT=443",
];

#[test]
fn a_pod_is_notified_of_its_namespaces_services_and_the_clusters_own() {
    check(
        "{metadata: {namespace: shop}, spec: {enableServiceLinks: true, containers: []}}",
        ALL,
        expect![[r#"
            DATA_BASE_PORT=tcp://[fd00::5]:5432
            DATA_BASE_PORT_53_UDP=udp://[fd00::5]:53
            DATA_BASE_PORT_53_UDP_ADDR=fd00::5
            DATA_BASE_PORT_53_UDP_PORT=53
            DATA_BASE_PORT_53_UDP_PROTO=udp
            DATA_BASE_PORT_5432_TCP=tcp://[fd00::5]:5432
            DATA_BASE_PORT_5432_TCP_ADDR=fd00::5
            DATA_BASE_PORT_5432_TCP_PORT=5432
            DATA_BASE_PORT_5432_TCP_PROTO=tcp
            DATA_BASE_SERVICE_HOST=fd00::5
            DATA_BASE_SERVICE_PORT=5432
            DATA_BASE_SERVICE_PORT_M_X=53
            KUBERNETES_PORT=tcp://10.96.0.1:443
            KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443
            KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1
            KUBERNETES_PORT_443_TCP_PORT=443
            KUBERNETES_PORT_443_TCP_PROTO=tcp
            KUBERNETES_SERVICE_HOST=10.96.0.1
            KUBERNETES_SERVICE_PORT=443
            KUBERNETES_SERVICE_PORT_HTTPS=443"#]],
    );
}

#[test]
fn without_links_only_the_clusters_own_are_reported() {
    let pod: Pod = serde_saphyr::from_str(
        "{metadata: {namespace: shop}, spec: {enableServiceLinks: false, containers: []}}",
    )
    .unwrap();
    let variables = service_variables(&pod, services(ALL).iter());
    let mut expected: Vec<&str> = KUBERNETES.into();
    expected.push("KUBERNETES_SERVICE_PORT_HTTPS=443");
    let lines: Vec<String> = variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn a_service_of_the_namespace_comes_before_the_clusters_own_of_its_name() {
    let both = |first: &str, second: &str| {
        let service = |namespace: &str, ip: &str| {
            format!(
                "- {{metadata: {{namespace: {namespace}, name: kubernetes}}, spec: {{clusterIP: {ip}, ports: [{{port: 443}}]}}}}\n"
            )
        };
        service(first, if first == "shop" { "10.0.0.2" } else { "10.0.0.1" })
            + &service(second, if second == "shop" { "10.0.0.2" } else { "10.0.0.1" })
    };
    let pod: Pod = serde_saphyr::from_str("{metadata: {namespace: shop}, spec: {containers: []}}").unwrap();
    for yaml in [both("default", "shop"), both("shop", "default")] {
        let variables = service_variables(&pod, services(&yaml).iter());
        assert_eq!(variables["KUBERNETES_SERVICE_HOST"], "10.0.0.2", "{yaml}");
    }
}
