//! Tests of what a spec names.

use super::*;

fn names(set: &BTreeSet<String>) -> String {
    set.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

const POD: &str = "
spec:
  imagePullSecrets: [{name: pull}, {name: ''}]
  initContainers:
    - name: i
      envFrom: [{configMapRef: {name: from-map}}, {secretRef: {name: from-secret}}]
      volumeMounts: [{name: s, mountPath: /s}]
  containers:
    - name: a
      env:
        - {name: A, valueFrom: {configMapKeyRef: {name: env-map, key: k}}}
        - {name: B, valueFrom: {secretKeyRef: {name: env-secret, key: k}}}
        - {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      volumeMounts: [{name: p, mountPath: /p}]
  ephemeralContainers:
    - {name: e, envFrom: [{configMapRef: {name: debug-map}}]}
  volumes:
    - {name: c, configMap: {name: unmounted-map}}
    - {name: s, secret: {secretName: mounted-secret}}
    - name: p
      projected:
        sources:
          - serviceAccountToken: {path: token, expirationSeconds: 3607}
          - serviceAccountToken: {path: vault, audience: vault}
          - configMap: {name: kube-root-ca.crt}
          - secret: {name: projected-secret}
          - downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}]}
";

#[test]
fn every_place_of_a_spec_that_names_objects_is_found() {
    let pod: Pod = serde_saphyr::from_str(POD).unwrap();
    let found = of_pod(&pod);
    assert_eq!(names(&found.config_maps), "debug-map env-map from-map kube-root-ca.crt unmounted-map");
    assert_eq!(names(&found.secrets), "env-secret from-secret mounted-secret projected-secret pull");
    let wish = |audience: Option<&str>, expiration_seconds| TokenWish {
        audience: audience.map(str::to_owned),
        expiration_seconds,
    };
    assert_eq!(found.tokens, [wish(None, 3607), wish(Some("vault"), 3600)].into());
    let spec = pod.spec.as_ref().unwrap();
    let mounted = of_mounted_volumes(spec);
    assert_eq!(names(&mounted.config_maps), "kube-root-ca.crt");
    assert_eq!(names(&mounted.secrets), "mounted-secret projected-secret");
    assert_eq!(mounted.tokens.len(), 2);
    let environment = of_environment(&spec.containers[0]);
    assert_eq!(names(&environment.config_maps), "env-map");
    assert_eq!(names(&environment.secrets), "env-secret");
    assert_eq!(of_pod(&Pod::default()), References::default());
}
