//! Host names: where they come from, how they are cut, and what is too long.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{pod, spec};

fn name_of(name: &str, fields: &str) -> Result<(String, String), HostnameError> {
    let mut pod = pod("Always", &["a"]);
    pod.metadata.name = Some(name.to_owned());
    *spec(&mut pod) = serde_saphyr::from_str(&format!("{{containers: [], {fields}}}")).unwrap();
    of_pod(&pod, "cluster.test").map(|name| (name.hostname, name.domain))
}

fn found(hostname: &str, domain: &str) -> Result<(String, String), HostnameError> {
    Ok((hostname.to_owned(), domain.to_owned()))
}

#[test]
fn names_come_from_the_override_the_hostname_or_the_pod() {
    let a = |count| "a".repeat(count);
    let override_error = |name: String| Err(HostnameError::Override { name });
    let none = "restartPolicy: Always";
    let cases = [
        ("web".to_owned(), none.to_owned(), found("web", "")),
        ("web.v1".to_owned(), none.to_owned(), found("web.v1", "")),
        ("web".to_owned(), "hostname: own".to_owned(), found("own", "")),
        ("web".to_owned(), "hostname: ''".to_owned(), found("web", "")),
        ("web".to_owned(), "subdomain: sub".to_owned(), found("web", "sub.ns.svc.cluster.test")),
        (
            "web".to_owned(),
            "hostname: own, subdomain: sub".to_owned(),
            found("own", "sub.ns.svc.cluster.test"),
        ),
        ("web".to_owned(), "hostnameOverride: x.example".to_owned(), found("x.example", "")),
        ("web".to_owned(), "hostnameOverride: x, hostname: own, subdomain: sub".to_owned(), found("x", "")),
        ("web".to_owned(), format!("hostnameOverride: {}", a(64)), found(&a(64), "")),
        ("web".to_owned(), format!("hostnameOverride: {}", a(65)), override_error(a(65))),
        ("web".to_owned(), "hostnameOverride: A".to_owned(), override_error("A".to_owned())),
        (
            "web".to_owned(),
            "hostname: a.b".to_owned(),
            Err(HostnameError::Hostname { name: "a.b".to_owned() }),
        ),
        (
            "web".to_owned(),
            "subdomain: a.b".to_owned(),
            Err(HostnameError::Subdomain { name: "a.b".to_owned() }),
        ),
        (a(63), none.to_owned(), found(&a(63), "")),
        (a(64), none.to_owned(), found(&a(63), "")),
        (format!("{}-b", a(62)), none.to_owned(), found(&a(62), "")),
        (format!("{}.-b", a(62)), none.to_owned(), found(&a(62), "")),
        (format!("{}üb", a(62)), none.to_owned(), found(&a(62), "")),
        ("-".repeat(70), none.to_owned(), Err(HostnameError::Empty { name: "-".repeat(70) })),
    ];
    for (name, fields, expected) in cases {
        assert_eq!(name_of(&name, &fields), expected, "{name} {fields}");
    }
}

#[test]
fn without_a_cluster_the_domain_ends_with_the_point_after_svc() {
    let mut pod = pod("Always", &["a"]);
    spec(&mut pod).subdomain = Some("sub".to_owned());
    assert_eq!(of_pod(&pod, "").unwrap().domain, "sub.ns.svc.");
}

#[test]
fn the_full_name_must_fit_the_kernel() {
    let name = |hostname: usize, domain: usize| PodHostname {
        hostname: "h".repeat(hostname),
        domain: "d".repeat(domain),
    };
    assert_eq!(name(3, 4).kernel_name(false).as_deref(), Ok("hhh"));
    assert_eq!(name(3, 4).kernel_name(true).as_deref(), Ok("hhh.dddd"));
    assert_eq!(name(3, 0).kernel_name(true).as_deref(), Ok("hhh"));
    assert_eq!(name(32, 31).kernel_name(true).map(|name| name.len()), Ok(64));
    let error = name(32, 32).kernel_name(true).unwrap_err().to_string();
    assert!(error.ends_with("is too long (64 characters is the max, 65 characters requested)"), "{error}");
    assert!(name(32, 32).kernel_name(false).is_ok());
}

proptest! {
    #[test]
    fn a_name_that_the_api_allows_is_cut_to_one_that_linux_takes(name in "[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?") {
        if let Ok((hostname, _)) = name_of(&name, "restartPolicy: Always") {
            prop_assert!(hostname.len() <= HOSTNAME_BYTES_MAX && name.starts_with(&hostname));
            prop_assert!(!hostname.ends_with(['-', '.']));
        }
    }
}
