//! Bytes to and from servers, in the clear and by TLS.

use std::sync::Arc;

use tokio_rustls::rustls::ALL_VERSIONS;

use super::*;
use crate::grant::NetworkGrant;
use crate::material::{NamedPem, TlsMaterial};
use crate::testing::{Authority, LIMIT, Server, ServerKinds, answer, answer_http, ends};

const FAR: i32 = 2999;

fn reach(port: u16) -> Reach {
    let grant: NetworkGrant = format!("127.0.0.1:{port}").parse().expect("it is one");
    Reach::new([grant], &[], None)
}

fn soon() -> Instant {
    Instant::now() + LIMIT
}

fn pem(name: &str, text: &str) -> NamedPem {
    NamedPem { name: name.to_owned(), pem: Some(Arc::from(text.as_bytes())) }
}

async fn open(egress: &Egress, server: &Server) -> Connection {
    let port = server.address.port();
    ends(egress.open(&reach(port), "127.0.0.1", port, soon())).await.expect("it listens")
}

async fn asked(connection: &mut Connection) -> String {
    connection.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", soon()).await.expect("it is sent");
    connection.shutdown(soon()).await.expect("it is said");
    let mut came = Vec::new();
    loop {
        let part = ends(connection.read(5, soon())).await.expect("it answers");
        assert!(part.len() <= 5);
        if part.is_empty() {
            return String::from_utf8_lossy(&came).into_owned();
        }
        came.extend(part);
    }
}

#[tokio::test]
async fn bytes_go_both_ways_in_the_clear_and_by_tls() {
    let authority = Authority::new();
    let plain =
        Server::new(|stream| answer_http(stream, Arc::new(|_: &str| answer("200 OK", &[], "hello")))).await;
    let identity = authority.server(&["127.0.0.1"], FAR, ALL_VERSIONS);
    let secure = Server::tls(&identity, |_| answer("200 OK", &[], "hello")).await;
    let material = TlsMaterial { authorities: vec![pem("ca", &authority.pem)], client: None };
    let egress = Egress::system().with_material(&material);
    let mut connection = open(&egress, &plain).await;
    assert!(asked(&mut connection).await.ends_with("hello"));
    assert!(connection.peer_certificates().is_empty());
    let mut connection = open(&egress, &secure).await;
    ends(connection.start_tls(&egress, TlsPolicy::Verify, "127.0.0.1", soon())).await.expect("it is granted");
    assert_eq!(connection.peer_certificates().len(), 1);
    let again = connection.start_tls(&egress, TlsPolicy::Verify, "127.0.0.1", soon()).await;
    assert_eq!(again.expect_err("it speaks TLS").code(), "AlreadyTls");
    assert!(asked(&mut connection).await.ends_with("hello"));
}

#[tokio::test]
async fn a_server_that_no_granted_authority_vouches_for_is_refused_and_the_connection_closed() {
    let identity = Authority::new().server(&["127.0.0.1"], FAR, ALL_VERSIONS);
    let server = Server::tls(&identity, |_| answer("200 OK", &[], "hello")).await;
    let other = Authority::new();
    let missing = NamedPem { name: "ca".to_owned(), pem: None };
    let cases = [
        (pem("ca", &other.pem), "CertificateInvalid", "failed to verify certificate"),
        (missing, "TlsFailed", "the node doesn't have the secret \"ca\" (now)"),
        (
            pem("ca", "nonsense"),
            "TlsFailed",
            "the authorities in secret \"ca\": must have 1 to 1024 certificates, found 0",
        ),
    ];
    for (authority, code, words) in cases {
        let material = TlsMaterial { authorities: vec![authority], client: None };
        let egress = Egress::system().with_material(&material);
        let mut connection = open(&egress, &server).await;
        let refused = ends(connection.start_tls(&egress, TlsPolicy::Verify, "127.0.0.1", soon())).await;
        let refused = refused.expect_err("no one vouches for it");
        assert_eq!(refused.code(), code);
        assert!(refused.to_string().contains(words), "{refused}");
        let after = connection.write_all(b"x", soon()).await.expect_err("it is closed");
        assert_eq!(after.code(), "Closed");
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown_and_needs_its_key() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let identity = authority.server(&["127.0.0.1"], FAR, ALL_VERSIONS).asking_for_clients_of(&clients);
    let server = Server::tls(&identity, |_| answer("200 OK", &[], "hello")).await;
    let (chain, key) = clients.client("probe", FAR);
    let (_, other_key) = clients.client("other", FAR);
    let material =
        |client: Option<NamedPem>| TlsMaterial { authorities: vec![pem("ca", &authority.pem)], client };
    let answered = async |client: Option<NamedPem>| {
        let egress = Egress::system().with_material(&material(client));
        let mut connection = open(&egress, &server).await;
        ends(connection.start_tls(&egress, TlsPolicy::Verify, "127.0.0.1", soon())).await?;
        // By TLS 1.3 a client knows only by the first answer that it was let in.
        connection.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", soon()).await?;
        ends(connection.read(100, soon())).await
    };
    let let_in = answered(Some(pem("client", &format!("{chain}{key}")))).await.expect("it is let in");
    assert!(let_in.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&let_in));
    assert!(!answered(None).await.is_ok_and(|answer| !answer.is_empty()), "it shows nothing");
    for (text, words) in [
        (chain.clone(), "must have the private key"),
        (format!("{chain}{other_key}"), "the private key does not fit the certificate"),
        (key.clone(), "must have 1 to 16 certificates, the client's first, found 0"),
    ] {
        let refused = answered(Some(pem("client", &text))).await.expect_err("it can't be shown");
        assert_eq!(refused.code(), "TlsFailed");
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

#[tokio::test]
async fn what_is_not_granted_is_not_reached() {
    let egress = Egress::system();
    let refused = egress.open(&reach(1), "127.0.0.1", 2, soon()).await.expect_err("another port");
    assert_eq!(refused.code(), "NotGranted");
    let process = std::process::id();
    let refused = egress.open_loopback(&reach(1), process, 1, soon()).await.expect_err("no grant");
    assert_eq!(refused.code(), "NotGranted");
    let loopback = Reach::new([NetworkGrant::PodLoopback], &[], None);
    // The network of this very process is the one that its pods don't have.
    let refused = egress.open_loopback(&loopback, process, 1, soon()).await.expect_err("it is ours");
    assert_eq!(refused.code(), "NoNetwork");
    assert!(refused.to_string().contains("the pod is in the network of the host"), "{refused}");
    let refused = egress.open_loopback(&loopback, u32::MAX, 1, soon()).await.expect_err("no process");
    assert_eq!(refused.code(), "NoNetwork");
}
