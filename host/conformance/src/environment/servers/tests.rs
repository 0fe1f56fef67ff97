//! Servers do as their scripts say, on addresses of their own.

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;

fn script(behaviour: Behaviour) -> ServerScript {
    let (protocol, dialog, http) = (Protocol::Tcp, Vec::new(), Vec::new());
    ServerScript { port: 7001, protocol, tls: false, behaviour, dialog, http }
}

fn holds(dialog: Vec<DialogTurn>) -> ServerScript {
    ServerScript { dialog, ..script(Behaviour::Answer) }
}

fn turn(receive: &str, send: &str) -> DialogTurn {
    DialogTurn { receive: receive.into(), send: send.into(), ..DialogTurn::default() }
}

/// Returns what a client that sends this receives.
async fn said(servers: &Servers, words: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((servers.address, 7001)).await?;
    stream.write_all(words.as_bytes()).await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    Ok(String::from_utf8_lossy(&received).into_owned())
}

#[tokio::test]
async fn a_dialog_goes_turn_by_turn_and_ends_at_a_wrong_word() {
    let dialog = vec![turn("PING\r\n", "+PONG\r\n"), turn("QUIT\r\n", "+OK\r\n")];
    let servers = Servers::start(&[holds(dialog)]).await.expect("a port");
    assert_eq!(said(&servers, "PING\r\nQUIT\r\n").await.expect("it answers"), "+PONG\r\n+OK\r\n");
    let wrong = said(&servers, "PANG\r\n").await;
    assert!(wrong.as_ref().is_ok_and(String::is_empty) || wrong.is_err(), "{wrong:?}");
    let received: Vec<_> = servers
        .received()
        .into_iter()
        .map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    assert!(
        received.iter().any(|received| received.starts_with("PA")),
        "what was sent instead is reported: {received:?}"
    );
}

#[tokio::test]
async fn two_cases_have_the_same_port_on_addresses_of_their_own() {
    let first = Servers::start(&[script(Behaviour::Close)]).await.expect("a port");
    let second = Servers::start(&[holds(vec![turn("", "second")])]).await.expect("a port");
    assert_ne!(first.address, second.address);
    assert_eq!(said(&first, "").await.expect("it closes"), "");
    assert_eq!(said(&second, "").await.expect("it speaks first"), "second");
}

#[tokio::test]
async fn no_one_listens_where_connections_are_refused_and_others_can_take_their_place() {
    let mut servers = Servers::start(&[script(Behaviour::Refuse)]).await.expect("nothing to listen on");
    let refused = said(&servers, "").await.expect_err("no server listens");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    servers.replace(&[holds(vec![turn("", "now")])]).await.expect("the same address");
    assert_eq!(said(&servers, "").await.expect("a server listens"), "now");
    servers.replace(&[script(Behaviour::Close)]).await.expect("the same port again");
    assert_eq!(said(&servers, "").await.expect("it closes"), "");
}

#[tokio::test]
async fn http_is_answered_by_path_and_headers() {
    let answer = |path: &str, headers: &[(&str, &str)], status| HttpAnswer {
        path: path.to_owned(),
        request_headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        status,
        headers: [("etag".to_owned(), "e1".to_owned())].into(),
        body: b"body".to_vec(),
    };
    let answers = vec![answer("/a", &[("If-None-Match", "e1")], 304), answer("/a", &[], 200)];
    let servers =
        Servers::start(&[ServerScript { http: answers, ..script(Behaviour::Answer) }]).await.expect("a port");
    let get = |rest: &'static str| said(&servers, rest);
    assert!(get("GET /a HTTP/1.1\r\n\r\n").await.expect("an answer").starts_with("HTTP/1.1 200 "));
    assert!(
        get("GET /a HTTP/1.1\r\nif-none-match: e1\r\n\r\n")
            .await
            .expect("an answer")
            .starts_with("HTTP/1.1 304 ")
    );
    assert!(get("GET /b HTTP/1.1\r\n\r\n").await.expect("an answer").starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn datagrams_are_answered_by_what_they_say() {
    let script = ServerScript { port: 7002, protocol: Protocol::Udp, ..holds(vec![turn("ping", "pong")]) };
    let servers = Servers::start(&[script]).await.expect("a port");
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    socket.send_to(b"nothing", (servers.address, 7002)).await.expect("sent");
    socket.send_to(b"ping", (servers.address, 7002)).await.expect("sent");
    let mut bytes = [0; 16];
    let (length, _) = socket.recv_from(&mut bytes).await.expect("an answer");
    assert_eq!(&bytes[..length], b"pong");
}

/// Returns what a client that trusts these authorities, and sends this over TLS, receives.
async fn said_by_tls(servers: &Servers, authorities: &[u8], words: &str) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(authorities) {
        roots.add(authority.expect("PEM")).expect("an authority");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for both versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect((servers.address, 7001)).await?;
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(ServerName::from(servers.address), stream).await?;
    stream.write_all(words.as_bytes()).await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    Ok(String::from_utf8_lossy(&received).into_owned())
}

#[tokio::test]
async fn a_server_with_tls_is_known_by_the_authority_of_cases_alone() {
    let server = ServerScript { tls: true, ..holds(vec![turn("PING\r\n", "+PONG\r\n")]) };
    let servers = Servers::start(&[server]).await.expect("a port");
    let authority = tls::with_authority(b"${AUTHORITY}");
    assert_eq!(said_by_tls(&servers, &authority, "PING\r\n").await.expect("it answers"), "+PONG\r\n");
    let unknown = said_by_tls(&servers, b"", "PING\r\n").await.expect_err("no one vouches for it");
    assert!(unknown.to_string().contains("UnknownIssuer"), "{unknown}");
    assert_eq!(tls::with_authority(b"secret"), b"secret");
}
