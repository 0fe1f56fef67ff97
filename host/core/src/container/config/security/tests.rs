//! Tests of security settings: what goes before what, and what is refused.

use super::*;
use crate::fixtures::{first, pod, spec};

/// The settings of a container with this `securityContext:` in a pod with that one.
fn settings(container: &str, of_pod: &str) -> Result<ContainerSecurity, ConfigError> {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).security_context = serde_saphyr::from_str(container).unwrap();
    spec(&mut pod).security_context = serde_saphyr::from_str(of_pod).unwrap();
    let container = first(&mut pod).clone();
    of_container(&pod, &container, Path::new("/var/lib/witlet/seccomp"))
}

#[test]
fn a_container_without_settings_takes_the_images_user_and_no_filter() {
    assert_eq!(settings("{}", "{}").unwrap(), ContainerSecurity::default());
    assert_eq!(settings("null", "null").unwrap(), ContainerSecurity::default());
}

#[test]
fn the_pods_settings_hold_where_the_container_has_none() {
    let of_pod = "{runAsUser: 1, runAsGroup: 2, supplementalGroups: [3, 4], fsGroup: 5,
                   seccompProfile: {type: RuntimeDefault}}";
    let inherited = settings("{}", of_pod).unwrap();
    assert_eq!((inherited.run_as_user, inherited.run_as_group), (Some(1), Some(2)));
    assert_eq!(inherited.supplemental_groups, [3, 4, 5]);
    assert_eq!(inherited.seccomp, SeccompProfile::RuntimeDefault);
    let own = settings("{runAsUser: 6, runAsGroup: 7, seccompProfile: {type: Unconfined}}", of_pod).unwrap();
    assert_eq!((own.run_as_user, own.run_as_group), (Some(6), Some(7)));
    assert_eq!(own.seccomp, SeccompProfile::Unconfined);
}

#[test]
fn the_group_of_volumes_is_there_once() {
    let groups = settings("{}", "{supplementalGroups: [5], fsGroup: 5}").unwrap().supplemental_groups;
    assert_eq!(groups, [5]);
}

#[test]
fn powers_are_passed_on() {
    let yaml = "{privileged: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false,
                 capabilities: {add: [NET_ADMIN], drop: [ALL]}}";
    let powers = settings(yaml, "{}").unwrap();
    assert!(powers.privileged && powers.read_only_root && powers.no_new_privileges);
    assert_eq!(
        (powers.capabilities_add, powers.capabilities_drop),
        (vec!["NET_ADMIN".into()], vec!["ALL".into()])
    );
    assert!(!settings("{allowPrivilegeEscalation: true}", "{}").unwrap().no_new_privileges);
}

#[test]
fn who_must_not_be_root_has_to_say_who_it_is() {
    let root = "container a has runAsNonRoot, and its runAsUser is 0";
    let unsaid = "container a has runAsNonRoot, and this release can't tell whether its image runs as root: set runAsUser";
    let cases = [
        ("{runAsNonRoot: true, runAsUser: 7}", "{}", None),
        ("{runAsNonRoot: true}", "{runAsUser: 7}", None),
        ("{runAsUser: 7}", "{runAsNonRoot: true}", None),
        ("{runAsNonRoot: false, runAsUser: 0}", "{runAsNonRoot: true}", None),
        ("{runAsNonRoot: true, runAsUser: 0}", "{runAsUser: 7}", Some(root)),
        ("{}", "{runAsNonRoot: true, runAsUser: 0}", Some(root)),
        ("{runAsNonRoot: true}", "{}", Some(unsaid)),
    ];
    for (container, of_pod, expected) in cases {
        let error = settings(container, of_pod).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{container} {of_pod}");
    }
}

#[test]
fn local_profiles_lie_in_the_nodes_folder() {
    let profile = |path: &str| {
        settings(&format!("{{seccompProfile: {{type: Localhost, localhostProfile: '{path}'}}}}"), "{}")
    };
    let expected = SeccompProfile::Localhost("/var/lib/witlet/seccomp/web/strict.json".into());
    assert_eq!(profile("web/strict.json").unwrap().seccomp, expected);
    for path in ["", "/etc/passwd", "../other", "web/../../other"] {
        assert!(matches!(profile(path), Err(ConfigError::Seccomp { .. })), "{path}");
    }
    assert!(matches!(settings("{seccompProfile: {type: Strict}}", "{}"), Err(ConfigError::Seccomp { .. })));
}

#[test]
fn a_sandbox_has_the_pods_user_and_always_the_runtimes_filter() {
    let mut pod = pod("Always", &["a", "b"]);
    spec(&mut pod).security_context =
        serde_saphyr::from_str("{runAsUser: 1, fsGroup: 5, seccompProfile: {type: Unconfined}}").unwrap();
    let expected = ContainerSecurity {
        run_as_user: Some(1),
        supplemental_groups: vec![5],
        seccomp: SeccompProfile::RuntimeDefault,
        ..ContainerSecurity::default()
    };
    assert_eq!(of_sandbox(&pod), expected);
    assert!(!any_privileged(&pod));
    spec(&mut pod).containers[1].security_context = serde_saphyr::from_str("{privileged: true}").unwrap();
    assert!(any_privileged(&pod) && of_sandbox(&pod).privileged);
}
