//! The forms that configurations come in.

use super::*;

fn shown(config: &DockerConfig) -> Vec<String> {
    let line = |(registry, auth): (&String, &ImageAuth)| {
        let tokens = format!("{}{}", auth.identity_token, auth.registry_token);
        format!("{registry} {}:{} {tokens}", auth.username, auth.password).trim_end().to_owned()
    };
    config.registries.iter().map(line).collect()
}

#[test]
fn credentials_are_read_from_both_forms() {
    let entries = format!(
        r#"{{"a.io": {{"username": "ann", "password": "pa", "email": "x@y"}},
            "b.io": {{"auth": "{}"}},
            "c.io": {{"auth": "{}", "username": "not", "password": "these"}},
            "d.io": {{"auth": "{}"}},
            "e.io": {{"identitytoken": "it"}},
            "f.io": {{"auth": "", "username": "u"}},
            "g.io": {{}}}}"#,
        encode_auth("bob", "p:b:"),
        encode_auth("cat", ""),
        encode_auth("dan", "d").trim_end_matches('='),
    );
    let expected =
        ["a.io ann:pa", "b.io bob:p:b:", "c.io cat:", "d.io dan:d", "e.io : it", "f.io u:", "g.io :"];
    let legacy = DockerConfig::parse_dockercfg(entries.as_bytes()).expect("well formed");
    assert_eq!(shown(&legacy), expected);
    let json =
        format!(r#"{{"auths": {entries}, "HttpHeaders": {{"User-Agent": "x"}}, "credsStore": "pass"}}"#);
    let config = DockerConfig::parse_json(json.as_bytes()).expect("well formed");
    assert_eq!(config, legacy);
}

#[test]
fn a_configuration_without_registries_has_none() {
    for text in ["{}", r#"{"auths": {}}"#, r#"{"auths": null}"#] {
        assert_eq!(DockerConfig::parse_json(text.as_bytes()), Ok(DockerConfig::default()), "{text}");
    }
}

#[test]
fn malformed_configurations_are_refused_without_telling_their_content() {
    for (text, expected) in [
        ("", "docker configuration: invalid JSON at line 1, column 0"),
        ("{\n\"auths\": [\"s3cret\"]}", "docker configuration: invalid JSON at line 2, column 9"),
        (
            r#"{"auths": {"a.io": {"auth": "!!s3cret"}}}"#,
            r#"docker configuration: auth of "a.io" must be the base64 encoding of USER:PASSWORD"#,
        ),
        (
            r#"{"auths": {"a.io": {"auth": "bm9jb2xvbg=="}}}"#,
            r#"docker configuration: auth of "a.io" must be the base64 encoding of USER:PASSWORD"#,
        ),
        (
            r#"{"auths": {"a.io": {"auth": "//8="}}}"#,
            r#"docker configuration: auth of "a.io" must be the base64 encoding of USER:PASSWORD"#,
        ),
    ] {
        let error = DockerConfig::parse_json(text.as_bytes()).expect_err(text);
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("s3cret"));
    }
}

#[test]
fn only_secrets_of_the_two_types_with_their_key_are_configurations() {
    let json = format!(r#"{{"a.io": {{"auth": "{}"}}}}"#, encode_auth("u", "p"));
    let new = format!(r#"{{"auths": {json}}}"#);
    let data = |key: &str, text: &str| BTreeMap::from([(key.to_owned(), text.as_bytes().to_vec())]);
    for (kind, data, found) in [
        (DOCKER_CONFIG_JSON_TYPE, data(DOCKER_CONFIG_JSON_KEY, &new), true),
        (DOCKERCFG_TYPE, data(DOCKERCFG_KEY, &json), true),
        (DOCKERCFG_TYPE, data(DOCKER_CONFIG_JSON_KEY, &new), false),
        (DOCKER_CONFIG_JSON_TYPE, data(DOCKERCFG_KEY, &json), false),
        (DOCKER_CONFIG_JSON_TYPE, data(DOCKER_CONFIG_JSON_KEY, ""), false),
        ("Opaque", data(DOCKER_CONFIG_JSON_KEY, &new), false),
    ] {
        let parsed = DockerConfig::parse_secret(kind, &data).expect("well formed");
        assert_eq!(parsed.map(|config| shown(&config)), found.then(|| vec!["a.io u:p".to_owned()]), "{kind}");
    }
    assert!(DockerConfig::parse_secret(DOCKERCFG_TYPE, &data(DOCKERCFG_KEY, "[]")).is_err());
}

#[test]
fn passwords_are_never_shown() {
    let text = format!(r#"{{"a.io": {{"auth": "{}"}}}}"#, encode_auth("u", "s3cret"));
    let config = DockerConfig::parse_dockercfg(text.as_bytes()).expect("well formed");
    assert!(!format!("{config:?}").contains("s3cret"));
}
