//! Tests of security settings: what goes before what, and what is refused.

use super::*;
use crate::container::spec::{Host, fixtures};
use crate::fixtures::{first, pod, spec};

/// The settings of a container with this `securityContext:` in a pod with that one, from an image of this user.
fn settings_of(container: &str, of_pod: &str, image: ImageFacts<'_>) -> Result<ContainerSecurity, SpecError> {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).security_context = serde_saphyr::from_str(container).unwrap();
    spec(&mut pod).security_context = serde_saphyr::from_str(of_pod).unwrap();
    let container = first(&mut pod).clone();
    let node = fixtures::node("2");
    of_container(ContainerInput { image, ..fixtures::input(&pod, &container, fixtures::host(&node)) })
}

fn of_user(uid: i64) -> ImageFacts<'static> {
    ImageFacts { uid: Some(uid), ..ImageFacts::default() }
}

/// The same from an image of user 1000.
fn settings(container: &str, of_pod: &str) -> Result<ContainerSecurity, SpecError> {
    settings_of(container, of_pod, of_user(1000))
}

#[test]
fn a_container_without_settings_takes_the_images_user_and_no_filter() {
    let expected = ContainerSecurity { run_as_user: Some(1000), ..ContainerSecurity::default() };
    assert_eq!(settings("{}", "{}").unwrap(), expected);
    assert_eq!(settings("null", "null").unwrap(), expected);
}

#[test]
fn the_user_is_the_specs_or_the_images_or_root() {
    let named = ImageFacts { username: "app", ..ImageFacts::default() };
    let user = |container: &str, image| {
        let settings = settings_of(container, "{}", image).unwrap();
        (settings.run_as_user, settings.run_as_username)
    };
    let name = Some("app".to_owned());
    assert_eq!(user("{runAsUser: 5}", of_user(7)), (Some(5), None));
    assert_eq!(user("{runAsUser: 5}", named), (Some(5), None));
    assert_eq!(user("{}", of_user(7)), (Some(7), None));
    assert_eq!(user("{}", named), (None, name));
    assert_eq!(user("{}", ImageFacts { uid: Some(7), ..named }), (Some(7), None));
    assert_eq!(user("{}", ImageFacts::default()), (Some(0), None));
}

#[test]
fn the_pods_settings_hold_where_the_container_has_none() {
    let of_pod = "{runAsUser: 1, runAsGroup: 2, supplementalGroups: [3, 4], fsGroup: 5,
                   seccompProfile: {type: RuntimeDefault}}";
    let inherited = settings("{}", of_pod).unwrap();
    assert_eq!((inherited.run_as_user, inherited.run_as_group), (Some(1), Some(2)));
    assert_eq!(inherited.supplemental_groups, [5, 3, 4]);
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
fn who_must_not_be_root_is_checked_against_spec_and_image() {
    let named = ImageFacts { username: "app", ..ImageFacts::default() };
    let place = "(pod: \"web_ns(uid-1)\", container: a)";
    let by_spec = format!("container's runAsUser breaks non-root policy {place}");
    let by_image = format!("container has runAsNonRoot and image will run as root {place}");
    let by_name = format!(
        "container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root {place}"
    );
    let root = of_user(0);
    let cases = [
        ("{runAsNonRoot: true, runAsUser: 7}", "{}", root, None),
        ("{runAsNonRoot: true}", "{runAsUser: 7}", root, None),
        ("{runAsUser: 7}", "{runAsNonRoot: true}", root, None),
        ("{runAsUser: 7}", "{runAsNonRoot: true}", named, None),
        ("{runAsNonRoot: false, runAsUser: 0}", "{runAsNonRoot: true}", root, None),
        ("{runAsNonRoot: false}", "{}", named, None),
        ("{}", "{}", root, None),
        ("{runAsNonRoot: true}", "{}", of_user(7), None),
        ("{runAsNonRoot: true, runAsUser: 0}", "{runAsUser: 7}", of_user(7), Some(&by_spec)),
        ("{}", "{runAsNonRoot: true, runAsUser: 0}", of_user(7), Some(&by_spec)),
        ("{runAsNonRoot: true}", "{}", root, Some(&by_image)),
        ("{runAsNonRoot: true}", "{}", ImageFacts::default(), Some(&by_image)),
        ("{}", "{runAsNonRoot: true}", named, Some(&by_name)),
    ];
    for (container, of_pod, image, expected) in cases {
        let error = settings_of(container, of_pod, image).err().map(|error| error.to_string());
        assert_eq!(error.as_ref(), expected, "{container} {of_pod} {image:?}");
    }
}

#[test]
fn without_a_profile_the_nodes_default_filter_counts() {
    let with_default = |of_pod: &str, seccomp_default| {
        let mut pod = pod("Always", &["a"]);
        spec(&mut pod).security_context = serde_saphyr::from_str(of_pod).unwrap();
        let container = first(&mut pod).clone();
        let node = fixtures::node("2");
        let host = Host { seccomp_default, ..fixtures::host(&node) };
        of_container(fixtures::input(&pod, &container, host)).unwrap().seccomp
    };
    assert_eq!(with_default("{}", true), SeccompProfile::RuntimeDefault);
    assert_eq!(with_default("{}", false), SeccompProfile::Unconfined);
    assert_eq!(with_default("{seccompProfile: {type: Unconfined}}", true), SeccompProfile::Unconfined);
}

#[test]
fn apparmor_is_the_containers_field_or_its_annotation_or_the_pods_field() {
    use AppArmorProfile::{Localhost, RuntimeDefault, Unconfined};
    let profile = |own: &str, annotation: &str, of_pod: &str| {
        let mut pod = pod("Always", &["a"]);
        let field =
            |profile: &str| serde_saphyr::from_str(&format!("{{appArmorProfile: {profile}}}")).unwrap();
        first(&mut pod).security_context = Some(field(own));
        spec(&mut pod).security_context =
            serde_saphyr::from_str(&format!("{{appArmorProfile: {of_pod}}}")).unwrap();
        if !annotation.is_empty() {
            let key = format!("{APPARMOR_ANNOTATION}a");
            pod.metadata.annotations = Some([(key, annotation.to_owned())].into());
        }
        let container = first(&mut pod).clone();
        apparmor(&pod, &container).map_err(|error| error.to_string())
    };
    let local = || Ok(Some(Localhost("web".to_owned())));
    let (runtime, unconfined) = ("{type: RuntimeDefault}", "{type: Unconfined}");
    assert_eq!(profile("null", "", "null"), Ok(None));
    assert_eq!(profile(runtime, "unconfined", unconfined), Ok(Some(RuntimeDefault)));
    assert_eq!(profile("{type: Localhost, localhostProfile: web}", "", runtime), local());
    assert_eq!(profile("null", "localhost/web", runtime), local());
    assert_eq!(profile("null", "runtime/default", unconfined), Ok(Some(RuntimeDefault)));
    assert_eq!(profile("null", "unconfined", runtime), Ok(Some(Unconfined)));
    assert_eq!(profile("null", "nonsense", runtime), Ok(Some(RuntimeDefault)));
    assert_eq!(profile("null", "localhost/", "null"), Ok(None));
    assert_eq!(profile("null", "", unconfined), Ok(Some(Unconfined)));
    let missing = "AppArmor profile of container a: missing localhost apparmor profile name";
    assert_eq!(profile("{type: Localhost}", "", "null"), Err(missing.to_owned()));
    assert!(profile("null", "", "{type: Strict}").is_err());
}

#[test]
fn selinux_labels_proc_mounts_and_group_policies_are_passed_on() {
    let of_pod = "{seLinuxOptions: {level: 's0:c1'}, supplementalGroupsPolicy: Strict}";
    let own = settings("{procMount: Unmasked, seLinuxOptions: {user: u, role: r, type: t}}", of_pod).unwrap();
    let label = |user: &str, role: &str, kind: &str, level: &str| {
        let [user, role, kind, level] = [user, role, kind, level].map(str::to_owned);
        Some(SelinuxLabel { user, role, kind, level })
    };
    assert_eq!(own.selinux, label("u", "r", "t", ""));
    assert!(own.proc_unmasked);
    assert_eq!(own.supplemental_groups_policy, SupplementalGroupsPolicy::Strict);
    let inherited = settings("{procMount: Default}", of_pod).unwrap();
    assert_eq!((inherited.selinux, inherited.proc_unmasked), (label("", "", "", "s0:c1"), false));
    let policy = settings("{}", "{supplementalGroupsPolicy: Merge}").unwrap().supplemental_groups_policy;
    assert_eq!(policy, SupplementalGroupsPolicy::Merge);
}

#[test]
fn local_profiles_lie_in_the_nodes_folder() {
    let profile = |path: &str| {
        settings(&format!("{{seccompProfile: {{type: Localhost, localhostProfile: '{path}'}}}}"), "{}")
    };
    let expected = SeccompProfile::Localhost("/var/lib/witlet/seccomp/web/strict.json".into());
    assert_eq!(profile("web/strict.json").unwrap().seccomp, expected);
    for path in ["", "/etc/passwd", "../other", "web/../../other"] {
        assert!(matches!(profile(path), Err(SpecError::Seccomp { .. })), "{path}");
    }
    assert!(matches!(settings("{seccompProfile: {type: Strict}}", "{}"), Err(SpecError::Seccomp { .. })));
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
    spec(&mut pod).containers[1].security_context = None;
    let privileged = "[{name: i, securityContext: {privileged: true}}]";
    spec(&mut pod).init_containers = serde_saphyr::from_str(privileged).unwrap();
    assert!(any_privileged(&pod));
    spec(&mut pod).init_containers = None;
    spec(&mut pod).ephemeral_containers = serde_saphyr::from_str(privileged).unwrap();
    assert!(any_privileged(&pod));
}
