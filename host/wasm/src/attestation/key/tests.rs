//! Keys that `openssl` 3.0 wrote, and what isn't one.

use super::*;

/// `openssl genpkey -algorithm ed25519`
const PRIVATE_PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";
/// `openssl pkey -pubout`
const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAxQXfVjg4lj8KNqK5mZ+sHh0fL0rL/Y6WxChlo08RwhU=
-----END PUBLIC KEY-----
";
/// `openssl pkey -pubout -outform DER | sha256sum`
const KEY_ID: &str = "8303cb37196fbd3ade86ff971d142b03167dfdbc448f92abe25c6dfff5a9cddd";
/// `openssl ecparam -name prime256v1 -genkey`, as PKCS#8
const EC_PEM: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdXngwiSLZwzP+Iad
JGp4lBs3Xfy4GrDpNMyTrghPd7ChRANCAAQ0y1YCLAQonyarxqslTh9QOkfx3fY2
WXbFkzrA1C1RcuvBLyWWSzg/s6xZNCYUVeCw1u82uVcQLf0p1TKPMKZ4
-----END PRIVATE KEY-----
";

#[test]
fn keys_of_openssl_are_read_and_belong_together() {
    let private = SigningKey::from_pem(PRIVATE_PEM.as_bytes()).expect("a private key");
    let public = PublicKey::from_pem(PUBLIC_PEM.as_bytes()).expect("a public key");
    assert_eq!(private.public(), public);
    assert_eq!(public.id(), KEY_ID);
    assert_eq!(public.to_pem(), PUBLIC_PEM);
    let reported = format!("# of the build server\r\n{}", PUBLIC_PEM.replace('\n', "\r\n"));
    assert_eq!(
        PublicKey::from_pem(reported.as_bytes()),
        Ok(public),
        "text around it, and other ends of lines"
    );
    assert!(public.verifies(b"words", &private.sign(b"words")));
    assert!(!public.verifies(b"other words", &private.sign(b"words")));
}

#[test]
fn what_is_no_such_key_is_reported_from_one() {
    let public = |text: &str| PublicKey::from_pem(text.as_bytes()).expect_err(text);
    let private = |text: &str| SigningKey::from_pem(text.as_bytes()).expect_err(text);
    assert_eq!(public(PRIVATE_PEM), KeyError::Private);
    assert_eq!(private(PUBLIC_PEM), KeyError::Public);
    assert_eq!(private(EC_PEM), KeyError::Kind);
    assert_eq!(public(&PUBLIC_PEM.replace("PUBLIC KEY", "CERTIFICATE")), KeyError::Kind);
    assert_eq!(private(&PRIVATE_PEM.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")), KeyError::Encrypted);
    for read in [public, private] {
        assert_eq!(read(""), KeyError::NotPem);
        assert_eq!(read("ssh-ed25519 AAAA"), KeyError::NotPem);
        assert_eq!(read(&format!("{PUBLIC_PEM}{PUBLIC_PEM}")), KeyError::Several);
        assert_eq!(read(&PUBLIC_PEM.replace('M', "*")), KeyError::Malformed);
        assert_eq!(read(&PUBLIC_PEM.replace("END PUBLIC", "END PRIVATE")), KeyError::Malformed);
        assert_eq!(read(&PUBLIC_PEM[..60]), KeyError::Malformed);
        assert_eq!(read(&"x".repeat(KEY_BYTES_MAX + 1)), KeyError::TooLarge);
    }
    assert_eq!(PublicKey::from_pem(&[0xff; 8]), Err(KeyError::NotPem));
    // One byte less, and one of another algorithm.
    assert_eq!(
        public(
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAxQXfVjg4lj8KNqK5mZ+sHh0fL0rL/Y6WxChlo08Rwg==\n-----END PUBLIC KEY-----"
        ),
        KeyError::Kind
    );
}

#[test]
fn a_key_that_is_printed_for_debugging_does_not_tell_itself() {
    let key = SigningKey::from_pem(PRIVATE_PEM.as_bytes()).expect("a private key");
    let reported = format!("{key:?}");
    assert!(reported.contains(KEY_ID) && !reported.contains("hkST"), "{reported}");
    assert_eq!(
        reported.len(),
        format!("SigningKey {{ public: \"{KEY_ID}\", .. }}").len(),
        "nothing else: {reported}"
    );
}
