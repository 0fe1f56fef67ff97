//! kubeconfig files that are used, and ones that are refused by name.

use std::fs;
use std::path::Path;

use secrecy::ExposeSecret as _;

use super::write::kubeconfig_of;
use super::{Source, Target, User, load};

/// A kubeconfig with one cluster, context and user.
fn file(folder: &Path, cluster: &str, user: &str) -> std::path::PathBuf {
    let path = folder.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: k, cluster: {cluster}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u, namespace: ns}}}}]\n\
         users: [{{name: u, user: {user}}}]\n"
    );
    fs::write(&path, text).expect("written");
    path
}

const SERVER: &str = "{server: 'https://api:6443'}";

fn target(cluster: &str, user: &str) -> Target {
    let folder = tempfile::tempdir().expect("a folder");
    load(&file(folder.path(), cluster, user)).expect("a kubeconfig")
}

fn refusal(cluster: &str, user: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), cluster, user);
    let error = load(&path).expect_err("refused").to_string();
    let prefix = format!("kubeconfig {}: ", path.display());
    error.strip_prefix(&prefix).unwrap_or_else(|| panic!("no file is named: {error}")).to_owned()
}

#[test]
fn servers_as_they_are_written() {
    let cases = [
        ("{server: 'https://api:6443'}", "https://api:6443/"),
        ("{server: 'https://[::1]:6443/prefix'}", "https://[::1]:6443/prefix"),
        ("{server: '127.0.0.1:8080'}", "http://127.0.0.1:8080/"),
    ];
    for (cluster, expected) in cases {
        let target = target(cluster, "{}");
        assert_eq!(target.server.to_string(), expected);
        assert_eq!(target.namespace, "ns");
        assert!(matches!(target.user, User::Anonymous) && target.certificate.is_none());
    }
}

#[test]
fn credentials_as_they_are_written() {
    let token = target(SERVER, "{token: abc}");
    assert!(matches!(&token.user, User::Token(token) if token.expose_secret() == "abc"));
    let basic = target(SERVER, "{username: me, password: secret}");
    assert!(
        matches!(&basic.user, User::Basic { name, password } if name == "me" && password.expose_secret() == "secret")
    );
    let file = target(SERVER, "{token: abc, tokenFile: /run/token}");
    assert!(
        matches!(&file.user, User::TokenFile { path, first: Some(_) } if path == Path::new("/run/token"))
    );
    let inline = target(SERVER, "{client-certificate-data: Y2VydA==, client-key-data: a2V5, token: abc}");
    let expected = (Source::Inline(b"cert".to_vec()), Source::Inline(b"key".to_vec()));
    assert_eq!(inline.certificate, Some(expected));
    assert!(matches!(inline.user, User::Token(_)));
    let as_other = target(SERVER, "{token: abc, as: other, as-groups: [g]}");
    assert_eq!(as_other.impersonation.impersonate.as_deref(), Some("other"));
    assert!(as_other.impersonation.token.is_none());
}

#[test]
fn paths_are_relative_to_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let user = "{client-certificate: pki/a.crt, client-key: /abs/a.key, tokenFile: t}";
    let cluster = "{server: 'https://api', certificate-authority: ../ca.crt}";
    let target = load(&file(folder.path(), cluster, user)).expect("a kubeconfig");
    let expected = (Source::File(folder.path().join("pki/a.crt")), Source::File("/abs/a.key".into()));
    assert_eq!(target.certificate, Some(expected));
    assert_eq!(target.authorities, Some(Source::File(folder.path().join("../ca.crt"))));
    assert!(matches!(target.user, User::TokenFile { path, .. } if path == folder.path().join("t")));
}

#[test]
fn a_plugin_is_notified_of_its_cluster_and_found_next_to_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "{server: 'https://api', certificate-authority-data: Y2E=, extensions: \
                   [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]}";
    let user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [a], \
                env: [{name: N, value: V}], interactiveMode: IfAvailable, provideClusterInfo: true}}";
    let target = load(&file(folder.path(), cluster, user)).expect("a kubeconfig");
    let User::Exec(plugin) = target.user else { panic!("{:?}", target.user) };
    assert_eq!(plugin.command, folder.path().join("./bin/login"));
    assert_eq!(plugin.args, ["a"]);
    assert_eq!(plugin.env, [("N".to_owned(), "V".to_owned())]);
    let cluster = serde_json::json!({
        "server": "https://api", "certificate-authority-data": "Y2E=", "config": { "audience": "x" },
    });
    assert_eq!(plugin.cluster, Some(cluster));
}

#[test]
fn what_cannot_be_used_is_named() {
    let exec = |fields: &str| format!("{{exec: {{{fields}}}}}");
    let v1 = "apiVersion: client.authentication.k8s.io/v1";
    let cases = [
        (
            "{server: 'https://me:secret@api'}",
            "{}".to_owned(),
            "cluster \"k\": server: must not have a user or password in it; set the user's username and password instead",
        ),
        ("{}", "{}".to_owned(), "cluster \"k\": server: missing"),
        (
            "{server: 'ftp://api'}",
            "{}".to_owned(),
            "cluster \"k\": server: \"ftp://api\": scheme \"ftp\" is not supported",
        ),
        (
            "{server: 'https://api', proxy-url: 'ftp://proxy'}",
            "{}".to_owned(),
            "cluster \"k\": proxy-url: unsupported scheme \"ftp\", must be http, https, or socks5",
        ),
        (
            "{server: 'https://api', certificate-authority: a, insecure-skip-tls-verify: true}",
            "{}".to_owned(),
            "cluster \"k\": insecure-skip-tls-verify: must not be true when a cert",
        ),
        (
            SERVER,
            "{client-certificate: a}".to_owned(),
            "user \"u\": client-key: must be set together with client-certificate",
        ),
        (
            SERVER,
            "{client-key-data: YQ==}".to_owned(),
            "user \"u\": client-certificate: must be set together with client-key",
        ),
        (
            SERVER,
            "{client-certificate-data: '!'}".to_owned(),
            "user \"u\": client-certificate-data: not base64",
        ),
        (
            SERVER,
            "{username: a, token: b}".to_owned(),
            "user \"u\": username: must not be set together with a token",
        ),
        (
            SERVER,
            "{auth-provider: {name: gcp}}".to_owned(),
            "user \"u\": auth-provider: \"gcp\" is not supported: use exec",
        ),
        (
            SERVER,
            "{auth-provider: {name: oidc}}".to_owned(),
            "user \"u\": auth-provider: \"oidc\" is not supported",
        ),
        (
            SERVER,
            exec("apiVersion: client.authentication.k8s.io/v1alpha1, command: a"),
            "user \"u\": exec: apiVersion must be one of ",
        ),
        (SERVER, exec(v1), "user \"u\": exec: command is missing"),
        (
            SERVER,
            exec(&format!("{v1}, command: a, interactiveMode: Always")),
            "user \"u\": exec: \"a\" requires a terminal",
        ),
    ];
    for (cluster, user, expected) in cases {
        let refusal = refusal(cluster, &user);
        assert!(refusal.starts_with(expected), "{cluster} {user}: {refusal}");
    }
}

#[test]
fn what_is_not_in_the_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let cases = [
        ("clusters: []\n", "current-context is not set"),
        ("current-context: c\n", "context \"c\" does not exist"),
        (
            "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n",
            "cluster \"k\" does not exist",
        ),
        (
            "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n\
             clusters: [{name: k, cluster: {server: 'https://api'}}]\n",
            "user \"u\" does not exist",
        ),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).expect("written");
        let error = load(&path).expect_err("refused").to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    for garbage in [&b"\xff\xfe\xfd"[..], b"[", b"just words"] {
        fs::write(&path, garbage).expect("written");
        let error = load(&path).expect_err("refused").to_string();
        assert!(error.contains("kubeconfig"), "{error}");
    }
}

#[test]
fn what_a_bootstrap_writes_is_read_as_the_same_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "{server: 'https://api:6443', certificate-authority-data: Y2E=, tls-server-name: k}";
    let before = load(&file(folder.path(), cluster, "{token: abc.def}")).expect("a kubeconfig");
    let current = folder.path().join("kubelet-client-current.pem");
    let path = folder.path().join("written");
    fs::write(&path, kubeconfig_of(&before, &current).expect("text")).expect("written");
    let after = load(&path).expect("a kubeconfig");
    assert_eq!((&after.server, &after.authorities), (&before.server, &before.authorities));
    assert_eq!((&after.tls_server_name, &after.namespace), (&before.tls_server_name, &before.namespace));
    assert!(matches!(after.user, User::Anonymous), "the token is not in it");
    assert_eq!(after.certificate, Some((Source::File(current.clone()), Source::File(current))));
}
