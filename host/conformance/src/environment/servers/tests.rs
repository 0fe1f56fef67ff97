//! Servers do as their scripts say, on addresses of their own.

use super::*;

fn script(behaviour: Behaviour) -> ServerScript {
    let (protocol, dialog, http) = (Protocol::Tcp, Vec::new(), Vec::new());
    ServerScript { port: 7001, protocol, behaviour, dialog, http }
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
