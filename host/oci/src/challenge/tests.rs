//! Challenges as registries write them, and what is answered.

use super::*;

fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Option<Challenge> {
    let owned = |text: &str| text.to_owned();
    Some(Challenge::Bearer { realm: owned(realm), service: service.map(owned), scope: scope.map(owned) })
}

#[test]
fn challenges_are_read_as_they_are_written() {
    let cases = [
        (r#"Basic realm="witlet""#, Some(Challenge::Basic)),
        ("basic", Some(Challenge::Basic)),
        (
            r#"Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull""#,
            bearer(
                "https://auth.example.com/token",
                Some("registry.example.com"),
                Some("repository:a/b:pull"),
            ),
        ),
        // Blanks, another order, no quotes, an escape in a quoted text.
        (
            r#"BEARER  scope=x ,  realm="https://a/\"b", service=s"#,
            bearer("https://a/\"b", Some("s"), Some("x")),
        ),
        // White space around the sign of equality, which RFC 9110 lets old servers write, and tabs.
        (
            "Bearer realm = \"https://t\" ,\tservice\t=\ts, scope= x",
            bearer("https://t", Some("s"), Some("x")),
        ),
        ("Negotiate abc==, Bearer realm=https://t", bearer("https://t", None, None)),
        // A token is better than a password, whichever comes first.
        (r#"Basic realm="r", Bearer realm="https://t""#, bearer("https://t", None, None)),
        (r#"Bearer realm="https://t", Basic realm="r""#, bearer("https://t", None, None)),
        // Nowhere to get a token.
        (r#"Bearer service="x""#, None),
        (r#"Negotiate abc"#, None),
        ("", None),
        (r#"Bearer realm="https://unfinished"#, bearer("https://unfinished", None, None)),
        ("Bearer realm=\"\\", bearer("", None, None)),
    ];
    for (header, expected) in cases {
        assert_eq!(parse(header), expected, "{header}");
    }
}

fn auth(change: impl FnOnce(&mut ImageAuth)) -> ImageAuth {
    let mut auth = ImageAuth::default();
    change(&mut auth);
    auth
}

#[test]
fn each_kind_of_credentials_has_its_answer() {
    let ann = auth(|auth| (auth.username, auth.password) = ("ann".to_owned(), "let me in".to_owned()));
    let encoded = encode_auth("ann", "let me in");
    assert!(answer(&Challenge::Basic, None, "a/b", Action::Pull) == Step::NoCredentials);
    assert!(
        answer(&Challenge::Basic, Some(&ann), "a/b", Action::Pull)
            == Step::Use(Credential::Basic(encoded.clone()))
    );
    let challenge = bearer("https://t", Some("s"), None).expect("a challenge");
    let scope = ("scope", "repository:a/b:pull".to_owned());
    let request = |basic, form, more: &[(&'static str, &str)]| {
        let mut parameters = vec![("service", "s".to_owned()), scope.clone()];
        parameters.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Step::Token(TokenRequest { realm: "https://t".to_owned(), parameters, basic, form })
    };
    assert!(answer(&challenge, None, "a/b", Action::Pull) == request(None, false, &[]));
    assert!(answer(&challenge, Some(&ann), "a/b", Action::Pull) == request(Some(encoded), false, &[]));
    let identity = auth(|auth| auth.identity_token = "id".to_owned());
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", "id"), ("client_id", "witlet")];
    assert!(answer(&challenge, Some(&identity), "a/b", Action::Pull) == request(None, true, &refresh));
    let ready = auth(|auth| auth.registry_token = "ready".to_owned());
    assert!(
        answer(&challenge, Some(&ready), "a/b", Action::Pull)
            == Step::Use(Credential::Bearer("ready".to_owned()))
    );
}

#[test]
fn parameters_are_escaped_and_tokens_fit_into_a_header() {
    assert_eq!(
        encode(&[("scope", "repository:a/b:pull".to_owned()), ("x", "ä&=".to_owned())]),
        "scope=repository%3Aa%2Fb%3Apull&x=%C3%A4%26%3D"
    );
    let cases = [
        (r#"{"token": "abc"}"#, Some("abc")),
        (r#"{"access_token": "abc", "expires_in": 60}"#, Some("abc")),
        (r#"{"token": "", "access_token": "abc"}"#, Some("abc")),
        (r#"{"token": "a\r\nHost: evil"}"#, None),
        (r#"{"token": ""}"#, None),
        ("{}", None),
        ("<html>", None),
    ];
    for (text, expected) in cases {
        assert_eq!(token(text.as_bytes()).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_token_for_a_push_allows_it_whatever_the_first_challenge_was_about() {
    for scope in [None, Some("repository:a/b:pull".to_owned())] {
        let challenge = Challenge::Bearer { realm: "https://x".to_owned(), service: None, scope };
        let Step::Token(request) = answer(&challenge, None, "a/b", Action::Push) else { panic!("no token") };
        assert_eq!(request.parameters, [("scope", "repository:a/b:pull,push".to_owned())]);
    }
}
