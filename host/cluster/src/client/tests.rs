//! Connections over TLS to a server that notes who comes.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use witlet_core::pod::PodFullName;
use witlet_core::status::write::Next;
use witlet_ports::Tracer;
use witlet_testkit::{FixedJitter, ManualClock};

use super::files::FILES_PERIOD;
use super::fixture::{ALWAYS, Authority, Canned, TestServer, get, tls};
use super::identity::Identity;
use super::proxy::tests::TestProxy;
use super::{ConnectError, ConnectOptions, Connection, OneTry};

mod joining;
mod spans;

/// A folder with a kubeconfig for this server, and the options that name it.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new(server: &TestServer, user: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("ca.crt"), server.authority.pem()).expect("written");
        let home = Self { folder };
        home.write("kubeconfig", &kubeconfig(&server.url, user));
        home
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("written");
    }

    fn certificate(&self, server: &TestServer, name: &str) {
        let (chain, key) = server.authority.issue(name, ALWAYS);
        self.write("client.crt", &chain);
        self.write("client.key", &key);
    }

    fn options(&self) -> ConnectOptions {
        ConnectOptions {
            kubeconfig: self.folder.path().join("kubeconfig"),
            bootstrap_kubeconfig: None,
            cert_dir: self.folder.path().join("pki"),
            node_name: "n1".to_owned(),
            rotate: false,
            user_agent: "witlet/test".to_owned(),
            qps: 0.0,
            burst: 0,
            clock: Arc::new(ManualClock::new()),
            jitter: Arc::new(FixedJitter(0.0)),
            tracer: Tracer::off(),
        }
    }
}

fn kubeconfig(server: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: k, cluster: {{server: '{server}', certificate-authority: ca.crt}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         users: [{{name: u, user: {user}}}]\n"
    )
}

const FILES: &str = "{client-certificate: client.crt, client-key: client.key}";

async fn text(client: &kube::Client, path: &str) -> Result<String, kube::Error> {
    client.request_text(get(path).map(|_| Vec::new())).await
}

#[tokio::test]
async fn requests_share_one_connection_and_show_who_they_are() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let client = Connection::open(home.options()).expect("open").client();
    let all: Vec<_> = (0..20).map(|n| text_owned(client.clone(), format!("/api/v1/nodes/{n}"))).collect();
    for answer in futures::future::join_all(all).await {
        assert_eq!(answer.expect("an answer"), "{}");
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 20);
    assert!(seen.iter().all(|seen| seen.connection == 0 && seen.http2), "{seen:?}");
    assert!(seen.iter().all(|seen| seen.authorization.as_deref() == Some("Bearer abc")), "{seen:?}");
}

async fn text_owned(client: kube::Client, path: String) -> Result<String, kube::Error> {
    text(&client, &path).await
}

#[tokio::test]
async fn watches_spread_over_connections_and_never_hold_up_a_request() {
    for (http2, expected) in [(true, 5), (false, 11)] {
        // More watches than two connections have streams.
        let server = TestServer::start(http2, 3).await;
        let home = Home::new(&server, "{token: abc}");
        let client = Connection::open(home.options()).expect("open").client();
        let mut open = Vec::new();
        for n in 0..10 {
            let path = format!("/api/v1/configmaps?watch=true&n={n}");
            open.push(client.send(get(&path)).await.expect("a watch"));
        }
        text(&client, "/api/v1/nodes").await.expect("an answer in spite of the watches");
        text(&client, "/api/v1/nodes").await.expect("another one");
        let seen = server.seen();
        let connections: std::collections::BTreeSet<_> = seen.iter().map(|seen| seen.connection).collect();
        assert_eq!(connections.len(), expected, "HTTP/2 {http2}: {seen:?}");
        assert_eq!(seen[10].connection, seen[11].connection, "ordinary requests share");
        assert!(seen[..10].iter().all(|watch| watch.connection != seen[10].connection), "{seen:?}");
    }
}

#[tokio::test]
async fn a_new_client_certificate_ends_connections_and_is_shown_by_the_next() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, FILES);
    home.certificate(&server, "system:node:first");
    let connection = Connection::open(home.options()).expect("open");
    let client = connection.client();
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().client.as_deref(), Some("system:node:first"));
    let watch = client.send(get("/api/v1/pods?watch=true")).await.expect("a watch");

    let (chain, key) = server.authority.issue("system:node:second", ALWAYS);
    let second = Identity::parse(chain.as_bytes(), key.as_bytes()).expect("a pair");
    assert!(connection.link.identities.replace(second));
    assert!(watch.into_body().collect().await.is_err(), "the watch breaks off");
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().client.as_deref(), Some("system:node:second"));
    assert!(server.last().connection > server.seen()[0].connection);
}

/// Keeps the connection for three periods of its files, in no time.
async fn run_for_a_while(connection: &Connection) {
    tokio::time::pause();
    let stop = CancellationToken::new();
    let later = async {
        tokio::time::sleep(FILES_PERIOD * 3).await;
        stop.cancel();
    };
    tokio::join!(connection.run(stop.clone()), later);
    tokio::time::resume();
}

#[tokio::test]
async fn certificate_files_are_read_again_and_broken_ones_leave_the_last_certificate() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, FILES);
    home.certificate(&server, "system:node:first");
    let connection = Connection::open(home.options()).expect("open");
    let client = connection.client();
    home.certificate(&server, "system:node:second");
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().client.as_deref(), Some("system:node:first"), "a minute hasn't gone by");
    run_for_a_while(&connection).await;
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().client.as_deref(), Some("system:node:second"));
    home.write("client.crt", "garbage");
    run_for_a_while(&connection).await;
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().client.as_deref(), Some("system:node:second"));
}

#[tokio::test]
async fn authorities_are_read_again_and_end_connections_to_whom_they_do_not_vouch_for() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let connection = Connection::open(home.options()).expect("open");
    let client = connection.client();
    text(&client, "/version").await.expect("an answer");
    let other = Authority::new().pem();
    home.write("ca.crt", &format!("{}{other}", server.authority.pem()));
    run_for_a_while(&connection).await;
    text(&client, "/version").await.expect("an answer, because it is one of both");
    assert_eq!(server.last().connection, 1, "one connection for each change, not for each check");
    home.write("ca.crt", &other);
    run_for_a_while(&connection).await;
    let error = text(&client, "/version").await.expect_err("no one vouches for it any more");
    assert!(error.to_string().contains("certificate"), "{error}");
    for text_of in ["garbage".to_owned(), server.authority.pem()] {
        home.write("ca.crt", &text_of);
        run_for_a_while(&connection).await;
        let is_trusted = text(&client, "/version").await.is_ok();
        assert_eq!(is_trusted, text_of != "garbage", "{text_of}");
    }
}

#[tokio::test]
async fn a_peer_that_went_silent_is_noticed() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let client = Connection::open(home.options()).expect("open").client();
    let watch = client.send(get("/api/v1/pods?watch=true")).await.expect("a watch");
    server.freeze();
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    assert!(watch.into_body().collect().await.is_err(), "the watch breaks off");
    let after = begun.elapsed();
    assert!(after < Duration::from_secs(60), "after {after:?}, by pings");
}

#[tokio::test]
async fn an_ordinary_request_has_a_deadline() {
    let server = TestServer::start(false, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let connection = Connection::open(home.options()).expect("open");
    let client = connection.heartbeats(Duration::from_secs(60)).expect("a client");
    text(&client, "/version").await.expect("an answer");
    server.freeze();
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let error = text(&client, "/version").await.expect_err("no answer");
    assert!(error.to_string().contains("no response within 60s"), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn the_server_says_when_a_request_is_made_again() {
    let cases: [(&[Canned], u16, usize); 6] = [
        (&[(429, Some("0"))], 200, 2),
        (&[(503, Some("0")), (500, Some("0"))], 200, 3),
        (&[(429, None)], 429, 1),
        (&[(500, None)], 500, 1),
        (&[(409, Some("0"))], 409, 1),
        (&[(429, Some("0")); 20], 429, 11),
    ];
    for (canned, status, count) in cases {
        let server = TestServer::start(true, 100).await;
        let home = Home::new(&server, "{token: abc}");
        let client = Connection::open(home.options()).expect("open").client();
        server.answer(canned);
        let response = client.send(get("/api/v1/nodes")).await.expect("an answer");
        assert_eq!((response.status().as_u16(), server.seen().len()), (status, count), "{canned:?}");
    }
}

#[tokio::test]
async fn a_token_file_that_changed_is_read_again_when_the_server_says_no() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{tokenFile: token}");
    home.write("token", "first\n");
    let client = Connection::open(home.options()).expect("open").client();
    text(&client, "/version").await.expect("an answer");
    home.write("token", "second\n");
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().authorization.as_deref(), Some("Bearer first"), "a minute hasn't gone by");
    server.answer(&[(401, None)]);
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.last().authorization.as_deref(), Some("Bearer second"));
    server.answer(&[(401, None), (401, None)]);
    let refused = client.send(get("/version")).await.expect("an answer");
    assert_eq!(refused.status(), 401, "the same token isn't shown twice");
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn only_the_named_authority_is_trusted_unless_no_one_shall_be() {
    let server = TestServer::start(true, 100).await;
    let other_server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    home.write("ca.crt", &other_server.authority.pem());
    let client = Connection::open(home.options()).expect("open").client();
    let error = text(&client, "/version").await.expect_err("another authority");
    assert!(error.to_string().contains("certificate"), "{error}");
    let text_of = kubeconfig(&server.url, "{token: abc}")
        .replace("certificate-authority: ca.crt", "insecure-skip-tls-verify: true");
    home.write("kubeconfig", &text_of);
    let client = Connection::open(home.options()).expect("open").client();
    text(&client, "/version").await.expect("an answer");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_servers_name_may_be_another_one() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let name = "certificate-authority: ca.crt, tls-server-name: kubernetes.default";
    home.write("kubeconfig", &kubeconfig(&server.url, "{}").replace("certificate-authority: ca.crt", name));
    let client = Connection::open(home.options()).expect("open").client();
    let error = text(&client, "/version").await.expect_err("the certificate has no such name");
    assert!(error.to_string().contains("kubernetes.default"), "{error}");
}

#[tokio::test]
async fn a_kubeconfigs_proxy_leads_to_the_server() {
    let server = TestServer::start(true, 100).await;
    let proxy = TestProxy::connect(None).await;
    let home = Home::new(&server, "{token: abc}");
    let by_proxy = format!("certificate-authority: ca.crt, proxy-url: 'http://127.0.0.1:{}'", proxy.port);
    let config = kubeconfig(&server.url, "{token: abc}").replace("certificate-authority: ca.crt", &by_proxy);
    home.write("kubeconfig", &config);
    let client = Connection::open(home.options()).expect("open").client();
    text(&client, "/version").await.expect("an answer");
    let _watch = client.send(get("/api/v1/pods?watch=true")).await.expect("a watch");
    let host = server.url.trim_start_matches("https://");
    assert_eq!(proxy.asked().len(), 2, "a connection for requests and one for watches");
    assert!(proxy.asked()[0].starts_with(&format!("CONNECT {host} HTTP/1.1\r\n")), "{:?}", proxy.asked());
    assert!(server.last().http2, "TLS and its protocol are the server's own");
}

#[tokio::test]
async fn a_proxy_over_tls_is_trusted_as_the_server_is() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    for (authority, is_trusted) in [(&server.authority, true), (&Authority::new(), false)] {
        let proxy = TestProxy::secure(TlsAcceptor::from(Arc::new(tls(authority, false)))).await;
        let by_proxy = format!(
            "certificate-authority: ca.crt, proxy-url: 'https://user:secret@127.0.0.1:{}'",
            proxy.port
        );
        let config =
            kubeconfig(&server.url, "{token: abc}").replace("certificate-authority: ca.crt", &by_proxy);
        home.write("kubeconfig", &config);
        let client = Connection::open(home.options()).expect("open").client();
        let answer = text(&client, "/version").await.map_err(|error| error.to_string());
        let host = server.url.trim_start_matches("https://");
        if is_trusted {
            assert_eq!(answer, Ok("{}".to_owned()));
            assert!(server.last().http2, "TLS within TLS, and each with its own protocol");
            let expected = format!(
                "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n\r\n"
            );
            assert_eq!(proxy.asked(), [expected]);
        } else {
            let error = answer.expect_err("it isn't trusted");
            let named = format!("proxy https://127.0.0.1:{}: invalid peer certificate", proxy.port);
            assert!(error.contains(&named) && !error.contains("secret"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_at_an_address_of_version_6_is_asked_for_by_socks() {
    let server = TestServer::start(true, 100).await;
    let proxy = TestProxy::socks().await;
    let home = Home::new(&server, "{token: abc}");
    let url = server.url.replace("127.0.0.1", "[fd00::1]");
    let by_proxy = format!(
        "certificate-authority: ca.crt, tls-server-name: 127.0.0.1, proxy-url: 'socks5://127.0.0.1:{}'",
        proxy.port
    );
    let config = kubeconfig(&url, "{token: abc}").replace("certificate-authority: ca.crt", &by_proxy);
    home.write("kubeconfig", &config);
    let client = Connection::open(home.options()).expect("open").client();
    assert_eq!(text(&client, "/version").await.expect("an answer"), "{}");
    assert_eq!(proxy.asked(), [url.trim_start_matches("https://")]);
}

#[tokio::test]
async fn who_heeds_what_the_server_asks_is_reported_it() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let client = Connection::open(home.options()).expect("open").client();
    for (canned, seconds) in [((429, Some("50")), "50"), ((503, Some("7")), "7")] {
        let before = server.seen().len();
        server.answer(&[canned]);
        let mut request = get("/api/v1/nodes");
        request.extensions_mut().insert(OneTry);
        let response = client.send(request).await.expect("an answer");
        assert_eq!(response.status().as_u16(), canned.0);
        assert_eq!(response.headers()["retry-after"], seconds);
        assert_eq!(server.seen().len(), before + 1);
    }
}

#[tokio::test]
async fn a_status_is_reported_when_the_server_has_time_for_it() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let client = Connection::open(home.options()).expect("open").client();
    server.answer(&[(429, Some("50"))]);
    let name = PodFullName { namespace: "default".into(), name: "a".into() };
    let failure = crate::status::wire::delete(&client, &name, "u").await.expect_err("it is too busy");
    assert_eq!(failure.code, Some(429), "{failure:?}");
    assert!(matches!(failure.next, Next::Pause(asked) if asked == Duration::from_secs(50)), "{failure:?}");
}

#[test]
fn a_connection_that_cannot_be_opened_says_which_file_is_at_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home { folder };
    let missing = Connection::open(home.options()).expect_err("no kubeconfig");
    assert!(matches!(missing, ConnectError::Kubeconfig(_)));
    assert!(missing.to_string().contains("kubeconfig"), "{missing}");
    home.write("ca.crt", "no PEM at all");
    home.write("kubeconfig", &kubeconfig("https://127.0.0.1:1", "{token: abc}"));
    let authority = Connection::open(home.options()).expect_err("no authority");
    assert!(authority.to_string().contains("certificate-authority: no PEM certificate found"), "{authority}");
}
