//! Who may have which secret.

use super::*;

fn secrets(pairs: &[(&str, &str)]) -> BTreeMap<String, Arc<[u8]>> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().into())).collect()
}

#[test]
fn only_granted_secrets_are_reported_and_always_the_newest() {
    let all = Arc::new(Secrets::default());
    all.replace(secrets(&[("redis-password", "old"), ("other", "hidden")]));
    let names = ["redis-password".to_owned(), "missing".to_owned()].into();
    let granted = GrantedSecrets::new(all.clone(), names);
    assert_eq!(granted.get("redis-password").as_deref(), Ok(&b"old"[..]));
    assert_eq!(granted.get("other"), Err(NoSecret::NotGranted));
    assert_eq!(granted.get("missing"), Err(NoSecret::NotFound));
    all.replace(secrets(&[("redis-password", "new")]));
    assert_eq!(granted.get("redis-password").as_deref(), Ok(&b"new"[..]));
}

#[test]
fn values_are_not_shown() {
    let all = Arc::new(Secrets::default());
    all.replace(secrets(&[("redis-password", "hunter2")]));
    let granted = GrantedSecrets::new(all, ["redis-password".to_owned()].into());
    let shown = format!("{granted:?}");
    assert!(shown.contains("redis-password") && !shown.contains("hunter2"), "{shown}");
    assert!(!shown.contains("104"), "nor as bytes: {shown}");
}
