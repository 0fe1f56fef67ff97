//! What is measured, and what can't be.

use witlet_wasm::role::Role;

use super::{Error, roles};

#[test]
fn the_desired_role_is_measured_or_all_of_them() {
    let both = [Role::Admission, Role::Probe];
    let of = |expected| roles("x.wasm", &both, expected, &[]);
    assert_eq!(of(None).expect("it has roles"), both);
    assert_eq!(of(Some(Role::Probe)).expect("it has the role"), [Role::Probe]);
    let other = of(Some(Role::PodSource)).expect_err("it doesn't have the role");
    assert_eq!(other.to_string(), "x.wasm does not have the role podSource, it has admission, probe");
    let none = roles("x.wasm", &[], None, &["it exports nothing".to_owned()]);
    assert!(matches!(none, Err(Error::NoRole { obstacles, .. }) if obstacles.len() == 1));
}
