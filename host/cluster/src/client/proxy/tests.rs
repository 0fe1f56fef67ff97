//! Which proxy there is by kubeconfig and environment, and connections through one.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::*;

fn environment(https: &str, no: &str) -> Environment {
    let [https_proxy, no_proxy] = [https, no].map(str::to_owned);
    Environment { https_proxy, no_proxy, http_proxy: "http://plain:8080".to_owned() }
}

#[test]
fn hosts_that_no_proxy_names_are_reached_directly() {
    let cases: &[(&str, &str, u16, bool)] = &[
        ("", "api.example.com", 443, true),
        ("", "localhost", 443, false),
        ("", "127.1.2.3", 443, false),
        ("", "::1", 443, false),
        ("*", "api.example.com", 443, false),
        ("other.com, *", "api.example.com", 443, false),
        ("example.com", "example.com", 443, false),
        ("example.com", "api.example.com", 443, false),
        ("example.com", "notexample.com", 443, true),
        ("Example.COM", "API.example.com", 443, false),
        (".example.com", "example.com", 443, true),
        (".example.com", "api.example.com", 443, false),
        ("*.example.com", "api.example.com", 443, false),
        ("*.example.com", "example.com", 443, true),
        ("*example.com", "api.example.com", 443, true),
        ("example.com:6443", "api.example.com", 6443, false),
        ("example.com:6443", "api.example.com", 443, true),
        ("10.0.0.1", "10.0.0.1", 443, false),
        ("10.0.0.1", "10.0.0.10", 443, true),
        ("10.0.0.1:6443", "10.0.0.1", 6443, false),
        ("10.0.0.1:6443", "10.0.0.1", 443, true),
        ("10.0.0.0/8,192.168.0.0/16", "192.168.7.7", 443, false),
        ("10.0.0.0/8", "api.example.com", 443, true),
        ("fd00::/8", "fd00::1", 443, false),
        ("fd00::1", "fd00::1", 443, false),
        ("[fd00::1]:6443", "fd00::1", 6443, false),
        ("[fd00::1]:6443", "fd00::1", 443, true),
        (",, ,", "api.example.com", 443, true),
        (":443", "api.example.com", 443, true),
    ];
    for (no_proxy, host, port, expected) in cases {
        assert_eq!(is_proxied(no_proxy, host, *port), *expected, "{no_proxy:?}: {host}:{port}");
    }
}

#[test]
fn a_kubeconfigs_proxy_goes_before_the_environments() {
    let https = |proxy: &str| environment(proxy, "");
    let cases = [
        ("https://api:6443", None, environment("", ""), Ok(None)),
        ("https://api:6443", None, https("http://p:3128"), Ok(Some("http://p:3128"))),
        ("https://api:6443", None, https("p:3128"), Ok(Some("http://p:3128"))),
        ("https://api:6443", None, https("https://p"), Ok(Some("https://p:443"))),
        ("https://api:6443", None, https("socks5://user:secret@p"), Ok(Some("socks5://p:1080"))),
        ("https://api:6443", None, environment("http://p:3128", "api"), Ok(None)),
        ("https://127.0.0.1:6443", None, https("http://p:3128"), Ok(None)),
        ("https://[fd00::1]:6443", None, environment("http://p", "fd00::/8"), Ok(None)),
        ("http://api", None, https("http://p:3128"), Ok(Some("http://plain:8080"))),
        ("https://api", Some(""), https("http://p:3128"), Ok(Some("http://p:3128"))),
        // The environment has no word in what a kubeconfig says.
        (
            "https://127.0.0.1",
            Some("http://[fd00::2]:1"),
            environment("http://p", "*"),
            Ok(Some("http://[fd00::2]:1")),
        ),
        (
            "https://api",
            Some("socks4://p"),
            https(""),
            Err("unsupported scheme \"socks4\", must be http, https, or socks5"),
        ),
        (
            "https://api",
            Some("p:3128"),
            https(""),
            Err("unsupported scheme \"\", must be http, https, or socks5"),
        ),
        ("https://api", None, https("ftp://p"), Err("HTTPS_PROXY: the proxy URL is not usable")),
        ("https://api", Some("http://"), https(""), Err("the proxy URL is not usable")),
    ];
    for (server, named, environment, expected) in cases {
        let server: Uri = server.parse().expect("a URL");
        let found = choose(&server, named, &environment).map(|found| found.map(|proxy| proxy.to_string()));
        assert_eq!(
            found.as_ref().map(Option::as_deref).map_err(String::as_str),
            expected,
            "{server} {named:?}"
        );
    }
}

#[test]
fn credentials_are_never_shown() {
    let server = Uri::from_static("https://api");
    let proxy = choose(&server, Some("http://user:secret@p:3128"), &Environment::default());
    let proxy = proxy.expect("an address").expect("a proxy");
    assert_eq!(format!("{proxy} {proxy:?}"), "http://p:3128 http://p:3128");
}

/// A proxy for tests, and what it was asked.
pub(crate) struct TestProxy {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl TestProxy {
    /// Leads every CONNECT to its host, or answers it with this status.
    pub(crate) async fn connect(refusal: Option<&'static str>) -> Self {
        Self::start(move |stream, asked| Box::pin(tunnel(stream, asked, refusal))).await
    }

    /// The same over TLS.
    pub(crate) async fn secure(tls: TlsAcceptor) -> Self {
        Self::start(move |stream, asked| {
            let tls = tls.clone();
            Box::pin(async move {
                // Who doesn't trust it hangs up.
                let Ok(stream) = tls.accept(stream).await else { return };
                tunnel(stream, asked, None).await;
            })
        })
        .await
    }

    pub(crate) async fn socks() -> Self {
        Self::start(|stream, asked| Box::pin(socks(stream, asked))).await
    }

    async fn start(serve: impl Fn(TcpStream, Arc<Mutex<Vec<String>>>) -> Serving + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (asked, mut tasks) = (Arc::<Mutex<Vec<String>>>::default(), JoinSet::new());
        let shared = asked.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, shared.clone()));
            }
        });
        Self { port, asked, _tasks: tasks }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn tunnel(mut stream: impl Stream, asked: Arc<Mutex<Vec<String>>>, refusal: Option<&'static str>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    let head = String::from_utf8(head).expect("text");
    let host =
        head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).expect("CONNECT").to_owned();
    asked.lock().expect("no panic").push(head);
    if let Some(refusal) = refusal {
        let answer = format!("HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.expect("written");
        return;
    }
    let mut far = TcpStream::connect(host).await.expect("the server is there");
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("written");
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut far).await;
}

/// As RFC 1928 has it, with user and password (RFC 1929), for addresses. One of version 6 leads to the same port of 127.0.0.1.
async fn socks(mut stream: TcpStream, asked: Arc<Mutex<Vec<String>>>) {
    assert_eq!(stream.read_u8().await.expect("a version"), 5);
    let methods = read_short(&mut stream).await;
    let method = methods.last().expect("a method");
    stream.write_all(&[5, *method]).await.expect("written");
    let mut who = String::new();
    if *method == 2 {
        assert_eq!(stream.read_u8().await.expect("a version"), 1);
        for _ in 0..2 {
            let word = read_short(&mut stream).await;
            who = format!("{who}{} ", String::from_utf8(word).expect("text"));
        }
        stream.write_all(&[1, 0]).await.expect("written");
    }
    let mut request = [0; 4];
    stream.read_exact(&mut request).await.expect("a request");
    let ip: IpAddr = match request {
        [5, 1, 0, 1] => stream.read_u32().await.map(|bits| std::net::Ipv4Addr::from(bits).into()),
        [5, 1, 0, 4] => stream.read_u128().await.map(|bits| std::net::Ipv6Addr::from(bits).into()),
        other => panic!("no connection to an address: {other:?}"),
    }
    .expect("an address");
    let address = std::net::SocketAddr::from((ip, stream.read_u16().await.expect("a port")));
    asked.lock().expect("no panic").push(format!("{who}{address}"));
    let mut far = TcpStream::connect(("127.0.0.1", address.port())).await.expect("the server is there");
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.expect("written");
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut far).await;
}

async fn read_short(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; stream.read_u8().await.expect("a length").into()];
    stream.read_exact(&mut bytes).await.expect("so many bytes");
    bytes
}

/// Says back what it receives.
async fn echo() -> (u16, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut read, mut write) = stream.split();
            let _ = tokio::io::copy(&mut read, &mut write).await;
        }
    });
    (port, tasks)
}

async fn said_back(proxy: &str, port: u16) -> io::Result<()> {
    let proxy = Proxy::parse(proxy).map_err(io::Error::other)?;
    let mut stream = proxy.connect("127.0.0.1", port, None).await?;
    stream.write_all(b"hello").await?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"hello");
    Ok(())
}

#[tokio::test]
async fn bytes_go_both_ways_through_each_kind_of_proxy() {
    let (port, _tasks) = echo().await;
    let proxy = TestProxy::connect(None).await;
    said_back(&format!("http://127.0.0.1:{}", proxy.port), port).await.expect("a connection");
    assert_eq!(
        proxy.asked(),
        [format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")]
    );
    said_back(&format!("http://user:p%40ss@127.0.0.1:{}", proxy.port), port).await.expect("a connection");
    let asked = proxy.asked().pop().expect("it was asked");
    assert!(asked.contains("\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n"), "{asked}");
    let proxy = TestProxy::socks().await;
    said_back(&format!("socks5://127.0.0.1:{}", proxy.port), port).await.expect("a connection");
    for credentials in ["user:pass", "user:", "user"] {
        let address = format!("socks5://{credentials}@127.0.0.1:{}", proxy.port);
        said_back(&address, port).await.expect("a connection");
    }
    let who = ["", "user pass ", "user  ", "user  "];
    assert_eq!(proxy.asked(), who.map(|who| format!("{who}127.0.0.1:{port}")));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_credentials() {
    let (port, _tasks) = echo().await;
    for (refusal, words) in [
        ("407 Proxy Authentication Required", "tunnel error: proxy authorization required"),
        ("403 Forbidden", "tunnel error: unsuccessful"),
    ] {
        let proxy = TestProxy::connect(Some(refusal)).await;
        let error = said_back(&format!("http://user:secret@127.0.0.1:{}", proxy.port), port).await;
        let error = error.expect_err("it refuses").to_string();
        assert_eq!(error, format!("proxy http://127.0.0.1:{}: {words}", proxy.port));
    }
    // It is taken, and no one listens there.
    let taken = TcpSocket::new_v4().expect("a socket");
    taken.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = taken.local_addr().expect("an address");
    for scheme in ["http", "socks5"] {
        let error =
            said_back(&format!("{scheme}://{address}"), port).await.expect_err("no one listens").to_string();
        assert!(
            error.starts_with(&format!("proxy {scheme}://{address}: ")) && error.contains("refused"),
            "{error}"
        );
    }
}
