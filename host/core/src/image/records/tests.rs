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
        service_accounts: BTreeMap::new(),
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
    let made_again = PullSecret { uid: "another".to_owned(), ..secret("a", "h3") };
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
        ("a secret made again", &secrets, "reg.io/app:1", vec![made_again], true),
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
    assert!(crashed.pulled_with.is_empty(), "and by whom, no one knows");
}

#[test]
fn patterns_of_images_that_need_no_verification_are_checked() {
    for pattern in ["busybox", "reg.io/team/app", "reg.io:5000/app", "reg.io/*", "reg.io/team/*"] {
        assert_eq!(check_allowed(pattern), Ok(()), "{pattern}");
    }
    for pattern in
        ["", " reg.io/app", "reg.io/app ", "*", "/*", "reg.io/*/app", "reg.io/te*", "reg.io/app:1", "No Name"]
    {
        assert!(check_allowed(pattern).is_err(), "{pattern}");
    }
    let by_digest = format!("reg.io/app@sha256:{}", "a".repeat(64));
    assert!(check_allowed(&by_digest).is_err());
}

#[test]
fn a_secret_that_was_accepted_is_noted() {
    let known = record(&[("reg.io/app", PulledWith::Secrets(vec![secret("a", "h1")]))]);
    assert!(known.has_secrets("reg.io/app:1") && !known.has_secrets("mirror.io/app:1"));
    for (case, shown, noted) in [
        ("it is known", vec![secret("a", "h1")], None),
        ("its content was renewed", vec![secret("a", "h2")], Some(vec![secret("a", "h2")])),
        (
            "the same content elsewhere",
            vec![secret("b", "h1")],
            Some(vec![secret("a", "h1"), secret("b", "h1")]),
        ),
        ("no one accepted it", vec![secret("b", "h2")], None),
    ] {
        let record = known.accepted("reg.io/app:1", &shown, at(9));
        let with = record.as_ref().map(|record| record.pulled_with["reg.io/app"].clone());
        assert_eq!(with, noted.map(PulledWith::Secrets), "{case}");
    }
    let many = (0..SECRETS_MAX).map(|number| secret(&number.to_string(), "h1")).collect();
    let full = record(&[("reg.io/app", PulledWith::Secrets(many))]);
    assert_eq!(full.accepted("reg.io/app", &[secret("new", "h1")], at(9)), None, "too many are known");
}

#[test]
fn a_record_is_written_as_a_kubelet_writes_it() {
    let account =
        PullServiceAccount { uid: "u".to_owned(), namespace: "shop".to_owned(), name: "till".to_owned() };
    let mut record = record(&[
        ("busybox", PulledWith::NodeAccess),
        ("reg.io/app", PulledWith::Secrets(vec![secret("b", "h2"), secret("a", "h1")])),
    ]);
    record.service_accounts = [("reg.io/app".to_owned(), vec![account])].into();
    let text = String::from_utf8(record.to_json().expect("it can be written")).expect("text");
    let expected = concat!(
        r#"{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","#,
        r#""lastUpdatedTime":"1970-01-01T00:00:00Z","imageRef":"sha256:aa","credentialMapping":{"#,
        r#""busybox":{"nodePodsAccessible":true},"reg.io/app":{"kubernetesSecrets":["#,
        r#"{"uid":"uid-a","namespace":"shop","name":"a","credentialHash":"h1"},"#,
        r#"{"uid":"uid-b","namespace":"shop","name":"b","credentialHash":"h2"}],"#,
        r#""kubernetesServiceAccounts":[{"uid":"u","namespace":"shop","name":"till"}]}}}"#,
    );
    assert_eq!(text, expected);
    let mut read = PulledRecord::from_json(text.as_bytes()).expect("and read");
    assert_eq!(read.service_accounts, record.service_accounts);
    read.pulled_with.insert("reg.io/app".to_owned(), record.pulled_with["reg.io/app"].clone());
    assert_eq!(read, record, "but for the order of secrets");
    let older = text.replace("v1beta1", "v1alpha1");
    assert!(PulledRecord::from_json(older.as_bytes()).is_ok(), "the version before is read");
    for other in [
        text.replace("ImagePulledRecord", "ImagePullIntent"),
        text.replace("v1beta1", "v2"),
        text.replace("imageRef", "image"),
        String::new(),
    ] {
        assert!(PulledRecord::from_json(other.as_bytes()).is_err(), "{other}");
    }
}

#[test]
fn an_intent_is_written_as_a_kubelet_writes_it() {
    let text = intent_to_json("reg.io/app:1").expect("it can be written");
    let expected =
        r#"{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"reg.io/app:1"}"#;
    assert_eq!(String::from_utf8_lossy(&text), expected);
    assert_eq!(intent_from_json(&text).expect("and read"), "reg.io/app:1");
    assert!(intent_from_json(b"{}").is_err());
    // The file's name is the SHA-256 of the image.
    assert_eq!(file_name(""), "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn credentials_hash_as_a_kubelet_hashes_them() {
    let hashed = |username: &str, password: &str, email: &str| {
        let auth = ImageAuth {
            username: username.to_owned(),
            password: password.to_owned(),
            email: email.to_owned(),
            ..ImageAuth::default()
        };
        credential_hash(&auth)
    };
    // sha256sum of what encoding/json writes: {}, {"username":"u","password":"p"}, {"password":"a\u0026b"} and
    // {"username":"u","password":"p","email":"u@x"}.
    for (username, password, email, expected) in [
        ("", "", "", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        ("u", "p", "", "edbd57ca9372e64eb1c9070ecf3a049ac553596b0529acf034c7a71d4e618e88"),
        ("", "a&b", "", "bb50df9647ca26cc52638c993b50eb8d1d073cef2e6b8808b4b4baac2ae965a7"),
        ("u", "p", "u@x", "7cb051cedba7b10e4b87e5344c8d2659db5ebe5ec88b089b6737380b8ad78ec7"),
    ] {
        assert_eq!(hashed(username, password, email), expected, "{username} {password} {email}");
    }
    let place =
        ImageAuth { server_address: "reg.io".to_owned(), auth: "dTpw".to_owned(), ..ImageAuth::default() };
    assert_eq!(credential_hash(&place), hashed("", "", ""), "only user, password and email count");
}

#[test]
fn records_whose_images_are_gone_are_unknown() {
    // Upstream's TestFileBasedImagePullManager_PruneUnknownRecords, and records of images that came while they were listed.
    let records: Vec<PulledRecord> =
        [("anonymous", 0), ("ref", 0), ("empty", 0), ("late", 60), ("later", 61)]
            .map(|(image_ref, second)| PulledRecord {
                image_ref: image_ref.to_owned(),
                updated_at: at(second),
                ..record(&[])
            })
            .into();
    let images: [(&[&str], &[&str]); 4] = [
        (&["anonymous", "ref", "empty"], &[]),
        (&[], &["anonymous", "ref", "empty"]),
        (&["untracked1", "different-untracked"], &["anonymous", "ref", "empty"]),
        (&["anonymous", "untracked1", "ref", "different-untracked"], &["empty"]),
    ];
    for (listed, expected) in images {
        let listed = listed.iter().map(|image| (*image).to_owned()).collect();
        assert_eq!(unknown_records(&records, &listed, at(60)), expected, "{listed:?}");
    }
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
