//! Tests of what a container's status says of an image that isn't there.

use super::*;

#[test]
fn a_failed_pull_is_reported_by_what_the_runtime_says_of_it() {
    let cases = [
        ("no such manifest", "ErrImagePull", "no such manifest"),
        (
            "RegistryUnavailable: no route to host",
            "RegistryUnavailable",
            "image pull failed for reg.io/app because the registry is unavailable: no route to host",
        ),
        (
            "SignatureValidationFailed: no key",
            "SignatureValidationFailed",
            "image pull failed for reg.io/app because the signature validation failed: no key",
        ),
    ];
    for (said, reason, message) in cases {
        let failed = RuntimeError::failed("PullImage", said);
        let error =
            ImageError::Pull { image: "reg.io/app".to_owned(), cause: PullError::Runtime(vec![failed]) };
        let waiting = error.waiting_reason().map(|reason| reason.as_str());
        assert_eq!((waiting, error.waiting_message().as_str()), (Some(reason), message));
    }
}
