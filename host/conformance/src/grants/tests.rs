//! Each grant is withheld on its own, and a secret isn't repeated.

use super::*;

fn setup() -> Setup {
    let mut setup = Setup::new(Role::Probe);
    setup.grants =
        json!({"network": ["pod"], "tls": "insecure", "secrets": ["a"], "exec": true, "state": true});
    setup.secrets = [("a".to_owned(), b"value".to_vec())].into();
    setup.guest_paths = vec!["/pods".to_owned()];
    setup
}

#[test]
fn each_grant_is_withheld_on_its_own() {
    for withheld in &WITHHELD {
        assert!(is_granted(withheld.grant, &setup()), "{}", withheld.grant);
        assert!(!is_granted(withheld.grant, &Setup::new(Role::PodSource)), "{}", withheld.grant);
        let mut without = setup();
        (withheld.withhold)(&mut without);
        let gone = !is_granted(withheld.grant, &without);
        assert_eq!(gone, ["network", "files"].contains(&withheld.grant), "{}", withheld.grant);
        let others = WITHHELD.iter().filter(|other| other.grant != withheld.grant);
        assert!(others.into_iter().all(|other| is_granted(other.grant, &without)), "{}", withheld.grant);
    }
}

#[test]
fn a_secret_is_found_and_not_repeated() {
    let name = "password".to_owned();
    let secrets = [(&name, "s3cret".to_owned())];
    assert_eq!(holds_a_secret(&secrets, "its answer", "failure: no route to host"), None);
    let seen = holds_a_secret(&secrets, "its answer", "failure: AUTH s3cret was refused");
    assert_eq!(
        seen.as_deref(),
        Some("the secret \"password\" in its answer: failure: AUTH <password> was refused")
    );
}
