//! The client: a process of its own, so that its processor time isn't the server's.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

/// Reads lines of a path and whether it is to be compressed, and answers each with the bytes of the body and the milliseconds it took. All
/// over one connection, as Prometheus does.
pub(super) fn read(address: &str, authority: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    runtime.block_on(async {
        let stream = TlsConnector::from(Arc::new(config(authority)))
            .connect(
                ServerName::try_from("127.0.0.1").expect("a name"),
                TcpStream::connect(address).await.expect("it listens"),
            )
            .await
            .expect("a connection");
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        let mut connections = JoinSet::new();
        connections.spawn(connection);
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("a line");
            let (path, is_gzip) = line.split_once(' ').expect("two words");
            let mut request = Request::get(path).header("host", "node-1:10250");
            if is_gzip == "true" {
                request = request.header("accept-encoding", "gzip");
            }
            let begun = Instant::now();
            sender.ready().await.expect("open");
            let request = request.body(Empty::<Bytes>::new()).expect("a request");
            let mut body = sender.send_request(request).await.expect("a response").into_body();
            let mut bytes = 0;
            while let Some(frame) = body.frame().await {
                bytes += frame.expect("a piece").into_data().map_or(0, |data| data.len());
            }
            println!("{bytes} {}", begun.elapsed().as_secs_f64() * 1e3);
            std::io::stdout().flush().expect("it is read");
        }
    });
}

fn config(authority: &str) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    let chain = CertificateDer::pem_file_iter(authority).expect("a file");
    roots
        .add(chain.map(|certificate| certificate.expect("a certificate")).last().expect("one"))
        .expect("an authority");
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
