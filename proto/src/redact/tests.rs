//! Secrets don't reach logs.

use crate::cri::{AuthConfig, PullImageRequest};

#[test]
fn debug_output_of_a_pull_hides_every_secret() {
    let request = PullImageRequest {
        auth: Some(AuthConfig {
            username: "reader".to_owned(),
            password: "hunter2".to_owned(),
            auth: "cmVhZGVyOmh1bnRlcjI=".to_owned(),
            server_address: "registry.example".to_owned(),
            identity_token: "identity-secret".to_owned(),
            registry_token: "bearer-secret".to_owned(),
        }),
        ..PullImageRequest::default()
    };
    let shown = format!("{request:?}");
    for secret in ["hunter2", "cmVhZGVyOmh1bnRlcjI=", "identity-secret", "bearer-secret"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("reader") && shown.contains("registry.example"), "{shown}");
}
