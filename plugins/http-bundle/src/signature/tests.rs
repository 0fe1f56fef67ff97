//! Signatures that hold, and everything that isn't one.

use ed25519_dalek::{Signer as _, SigningKey};

use super::*;

fn key(seed: u8) -> (SigningKey, PublicKey) {
    let signing = SigningKey::from_bytes(&[seed; 32]);
    let public = STANDARD.encode(signing.verifying_key().as_bytes());
    (signing, PublicKey::try_from(public).expect("a key"))
}

#[test]
fn one_of_the_keys_must_have_signed_exactly_these_bytes() {
    let ((signing, own), (_, other)) = (key(1), key(2));
    let signature = STANDARD.encode(signing.sign(b"bundle").to_bytes());
    let with_line_end = format!("{signature}\n");
    assert_eq!(verify(b"bundle", &with_line_end, &[other.clone(), own.clone()]), Ok(()));
    assert_eq!(verify(b"bundle", &signature, &[other]), Err(SignatureError::Unproven));
    assert_eq!(verify(b"bundle ", &signature, std::slice::from_ref(&own)), Err(SignatureError::Unproven));
    assert_eq!(verify(b"bundle", &signature, &[]), Err(SignatureError::Unproven));
    for bad in ["", "????", "AAAA", &signature[..80]] {
        assert_eq!(verify(b"bundle", bad, std::slice::from_ref(&own)), Err(SignatureError::Form), "{bad}");
    }
}

#[test]
fn the_first_test_vector_of_the_rfc_holds() {
    // RFC 8032, 7.1, test 2.
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
    };
    let key = bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    let signature = bytes(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    );
    let key = PublicKey::try_from(STANDARD.encode(key)).expect("a key");
    assert_eq!(verify(&[0x72], &STANDARD.encode(signature), &[key]), Ok(()));
}

#[test]
fn weak_and_malformed_keys_are_refused() {
    let weak = STANDARD.encode([0_u8; 32]);
    for bad in ["", "x", "AAAA", weak.as_str()] {
        assert_eq!(PublicKey::try_from(bad.to_owned()), Err(KeyError), "{bad}");
    }
}

#[test]
fn the_signature_lies_next_to_the_bundle() {
    assert_eq!(signature_url("https://h/a.yaml"), "https://h/a.yaml.sig");
    assert_eq!(signature_url("https://h/a.yaml?node=n1#x"), "https://h/a.yaml.sig?node=n1");
}
