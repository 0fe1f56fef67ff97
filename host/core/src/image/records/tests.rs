//! Who may use what is there.

use proptest::prelude::*;

use super::*;

fn secret(name: &str, hash: &str) -> PullSecret {
    PullSecret {
        uid: format!("uid-{name}"),
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        credential_hash: hash.to_owned(),
    }
}

fn record(pulled_with: &[(&str, PulledWith)]) -> PulledRecord {
    PulledRecord {
        image_ref: "sha256:aa".to_owned(),
        updated_at: Timestamp::UNIX_EPOCH,
        pulled_with: pulled_with.iter().map(|(name, with)| ((*name).to_owned(), with.clone())).collect(),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

#[test]
fn the_policy_decides_whose_credentials_are_verified() {
    use VerificationPolicy::{
        AlwaysVerify, NeverVerify, NeverVerifyAllowlistedImages, NeverVerifyPreloadedImages,
    };
    let allow =
        |pattern: &str| NeverVerifyAllowlistedImages(vec!["other.io/x".to_owned(), pattern.to_owned()]);
    let nothing_of_it = record(&[]);
    let unknown = KnownPulls { record: None, intended: false };
    let intended = KnownPulls { record: None, intended: true };
    let recorded = KnownPulls { record: Some(&nothing_of_it), intended: false };
    for (policy, preloaded, begun, pulled) in [
        (NeverVerify, false, false, false),
        (NeverVerifyPreloadedImages, false, true, true),
        (AlwaysVerify, true, true, true),
        (allow("reg.io/team/app"), false, false, false),
        (allow("reg.io/team/*"), false, false, false),
        (allow("reg.io/*"), false, false, false),
        (allow("reg.io/team/app/*"), true, true, true),
        (allow("reg.io/te*"), true, true, true),
        (allow("reg.io/team/app:1"), true, true, true),
        (allow("team/app"), true, true, true),
    ] {
        for (known, expected) in [(unknown, preloaded), (intended, begun), (recorded, pulled)] {
            let pull = must_attempt_pull("reg.io/team/app:1", &policy, known, &[]);
            assert_eq!(pull, expected, "{policy:?} {known:?}");
        }
    }
    assert!(must_attempt_pull("No Name", &NeverVerify, unknown, &[]), "what can't be read is verified");
    for image in ["file:worker.wasm", "file:./worker.wasm"] {
        assert!(!must_attempt_pull(image, &NeverVerify, unknown, &[]), "{image}");
        assert!(must_attempt_pull(image, &AlwaysVerify, unknown, &[]), "{image}");
    }
}

#[test]
fn a_pulled_image_is_for_those_who_show_its_credentials() {
    let node = record(&[("reg.io/app", PulledWith::NodeAccess)]);
    let secrets = record(&[("reg.io/app", PulledWith::Secrets(vec![secret("a", "h1"), secret("b", "")]))]);
    let none = record(&[("reg.io/app", PulledWith::Secrets(Vec::new()))]);
    let made_anew = PullSecret { uid: "another".to_owned(), ..secret("a", "h3") };
    let elsewhere = PullSecret { namespace: "another".to_owned(), ..secret("a", "h3") };
    for (case, record, image, with, pull) in [
        ("node access is for all", &node, "reg.io/app:1", vec![], false),
        ("any tag and digest", &node, "reg.io/app", vec![], false),
        ("another name of the same image", &node, "mirror.io/app:1", vec![secret("a", "h1")], true),
        ("no secret", &secrets, "reg.io/app:1", vec![], true),
        ("the same secret", &secrets, "reg.io/app:1", vec![secret("a", "h1")], false),
        ("the same secret, renewed", &secrets, "reg.io/app:1", vec![secret("a", "h2")], false),
        ("another secret with the same content", &secrets, "reg.io/app:1", vec![secret("c", "h1")], false),
        ("another secret", &secrets, "reg.io/app:1", vec![secret("c", "h3")], true),
        ("unhashed content is like no other", &secrets, "reg.io/app:1", vec![secret("c", "")], true),
        ("unhashed content of the same secret", &secrets, "reg.io/app:1", vec![secret("b", "")], false),
        ("a secret made anew", &secrets, "reg.io/app:1", vec![made_anew], true),
        ("a secret of another namespace", &secrets, "reg.io/app:1", vec![elsewhere], true),
        ("node access, shown a secret", &node, "reg.io/app:1", vec![secret("a", "h1")], false),
        ("one of several", &secrets, "reg.io/app:1", vec![secret("c", "h3"), secret("a", "h9")], false),
        ("a record of no secrets", &none, "reg.io/app:1", vec![secret("a", "h1")], true),
    ] {
        let known = KnownPulls { record: Some(record), intended: false };
        let policy = VerificationPolicy::default();
        assert_eq!(must_attempt_pull(image, &policy, known, &with), pull, "{case}");
    }
}

#[test]
fn a_pull_adds_to_what_is_known() {
    let of = |secrets: &[PullSecret]| Some(PulledWith::Secrets(secrets.to_vec()));
    let first = PulledRecord::pulled(None, "reg.io/app:1", "sha256:aa", of(&[secret("a", "h1")]), at(1));
    let first = first.expect("the first one is new");
    assert_eq!(
        PulledRecord::pulled(Some(&first), "reg.io/app:2", "sha256:aa", of(&[secret("a", "h1")]), at(2)),
        None,
        "nothing is new"
    );
    assert_eq!(PulledRecord::pulled(Some(&first), "reg.io/app:2", "sha256:aa", None, at(2)), None);
    let renewed =
        PulledRecord::pulled(Some(&first), "reg.io/app:1", "sha256:aa", of(&[secret("a", "h2")]), at(3));
    let renewed = renewed.expect("other content");
    assert_eq!(renewed.pulled_with["reg.io/app"], PulledWith::Secrets(vec![secret("a", "h2")]));
    assert_eq!(renewed.updated_at, at(3));
    let both = PulledRecord::pulled(
        Some(&renewed),
        "mirror.io/app",
        "sha256:aa",
        Some(PulledWith::NodeAccess),
        at(4),
    );
    let both = both.expect("another name");
    assert_eq!(both.pulled_with.len(), 2);
    let open =
        PulledRecord::pulled(Some(&both), "reg.io/app", "sha256:aa", Some(PulledWith::NodeAccess), at(5));
    let open = open.expect("more than before");
    assert_eq!(open.pulled_with["reg.io/app"], PulledWith::NodeAccess);
    let still = PulledRecord::pulled(Some(&open), "reg.io/app", "sha256:aa", of(&[secret("z", "h")]), at(6));
    assert_eq!(still, None, "a secret takes nothing away");
    let crashed = PulledRecord::pulled(None, "reg.io/app", "sha256:aa", None, at(7)).expect("it was pulled");
    assert!(crashed.pulled_with.is_empty(), "and by whom, nobody knows");
}

#[test]
fn a_record_survives_being_written_and_read() {
    let record = record(&[
        ("reg.io/app", PulledWith::Secrets(vec![secret("a", "h1")])),
        ("busybox", PulledWith::NodeAccess),
    ]);
    let text = serde_json::to_string(&record).expect("it can be written");
    assert_eq!(serde_json::from_str::<PulledRecord>(&text).expect("and read"), record);
}

proptest! {
    #![proptest_config(crate::fixtures::property(64))]

    #[test]
    fn records_stay_bounded_and_keep_the_newest(names in proptest::collection::vec(0u16..300, 1..400)) {
        let mut record: Option<PulledRecord> = None;
        for (second, name) in names.iter().enumerate() {
            let with = PulledWith::Secrets(vec![secret(&name.to_string(), "h")]);
            let now = at(i64::try_from(second).expect("small"));
            record = PulledRecord::pulled(record.as_ref(), "a.io/b", "r", Some(with), now).or(record);
            let known = KnownPulls { record: record.as_ref(), intended: false };
            let shown = [secret(&name.to_string(), "h")];
            prop_assert!(!must_attempt_pull("a.io/b:1", &VerificationPolicy::default(), known, &shown));
        }
        let Some(PulledWith::Secrets(kept)) = record.and_then(|r| r.pulled_with.get("a.io/b").cloned()) else {
            return Err(TestCaseError::fail("no secrets"));
        };
        prop_assert!(kept.len() <= SECRETS_MAX);
    }
}
