//! Both ends of a translation, in memory.

use tokio::io::duplex;

use super::*;

/// A client's frame, with a mask of its own.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let length = u8::try_from(payload.len()).expect("a test's messages are short");
    let mut frame = vec![first, 0x80 | length];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

#[tokio::test]
async fn a_clients_messages_are_read_whatever_their_frames() {
    let long = vec![7; 300];
    let mut sent = masked(0x82, b"one");
    sent.extend(masked(0x02, b"t"));
    sent.extend(masked(0x80, b"wo"));
    sent.extend(masked(0x89, b"ping"));
    sent.extend([0x82, 0x80 | 126, 1, 44, 0, 0, 0, 0]);
    sent.extend(&long);
    sent.extend(masked(0x88, &[3, 232]));
    let mut from = &*sent;
    for expected in [
        Message::Binary(b"one".to_vec()),
        Message::Binary(b"two".to_vec()),
        Message::Ping(b"ping".to_vec()),
        Message::Binary(long),
        Message::Closed,
        Message::Closed,
    ] {
        assert_eq!(websocket::read(&mut from).await.expect("a message"), expected);
    }
    let not_masked = [0x82, 1, 0];
    assert!(websocket::read(&mut &not_masked[..]).await.is_err());
    let endless = [0x82, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(websocket::read(&mut &endless[..]).await.is_err());
}

/// The example of RFC 6455, section 1.3.
#[test]
fn a_key_is_answered_as_the_standard_has_it() {
    assert_eq!(websocket::accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn only_what_upstream_translates_is_translated() {
    let headers = |upgrade: &'static str, protocols: &[&'static str]| {
        let mut headers = HeaderMap::new();
        headers.insert(UPGRADE, HeaderValue::from_static(upgrade));
        for protocol in protocols {
            headers.append(PROTOCOL, HeaderValue::from_static(protocol));
        }
        headers
    };
    let tunnel = Some(Wish::Tunnel("portforward.k8s.io".to_owned()));
    for (subresource, upgrade, protocols, expected) in [
        ("exec", "websocket", &["v5.channel.k8s.io"][..], Some(Wish::Streams)),
        ("attach", "WebSocket", &["v4.channel.k8s.io, v5.channel.k8s.io"], Some(Wish::Streams)),
        ("exec", "websocket", &["v4.channel.k8s.io"], None),
        ("exec", "SPDY/3.1", &["v5.channel.k8s.io"], None),
        ("portforward", "websocket", &["SPDY/3.1+portforward.k8s.io"], tunnel),
        ("portforward", "websocket", &["v4.channel.k8s.io"], None),
        ("log", "websocket", &["v5.channel.k8s.io"], None),
    ] {
        assert_eq!(
            Wish::of(subresource, &headers(upgrade, protocols)),
            expected,
            "{subresource} {protocols:?}"
        );
    }
}

fn spdy_data(id: u32, ends: bool, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a test's frames are short") | u32::from(ends) << 24;
    [&id.to_be_bytes(), &length.to_be_bytes(), bytes].concat()
}

/// A node that says its last words and takes nothing any more: they reach the client, whatever that still sends.
#[tokio::test]
async fn last_words_reach_a_client_that_still_sends() {
    let (node, mut far) = duplex(64 * 1024);
    let (client, mut near) = duplex(64 * 1024);
    let desired = StreamOptions { stdin: true, stdout: true, ..StreamOptions::default() };
    // The streams are numbered as they are opened: error, stdin, stdout.
    let mut words = spdy_data(5, false, b"almost ");
    words.extend(spdy_data(5, true, b"all"));
    words.extend([0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 2]);
    words.extend(spdy_data(1, true, b"{\"status\":\"Success\"}"));
    far.write_all(&words).await.expect("capacity");
    near.write_all(&masked(0x82, b"\0late")).await.expect("capacity");
    near.write_all(&masked(0x82, &[CLOSE, STDIN])).await.expect("capacity");
    let (from_client, to_client) = io::split(client);
    let to_client = Mutex::new(to_client);
    let reported = carry(from_client, &to_client, node, desired).await.expect("streams");
    assert_eq!(reported.as_deref(), Some(&b"{\"status\":\"Success\"}"[..]));
    let mut seen = vec![0; 16];
    near.read_exact(&mut seen).await.expect("two messages");
    assert_eq!(seen, b"\x82\x08\x01almost \x82\x04\x01all");
    let mut sent = Vec::new();
    drop(to_client);
    far.read_to_end(&mut sent).await.expect("what the node was sent");
    let pong = [0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 2];
    assert!(sent.windows(pong.len()).any(|window| window == pong), "a ping is answered");
}

#[tokio::test]
async fn a_node_that_breaks_off_is_reported() {
    let (node, mut far) = duplex(64 * 1024);
    let (client, _near) = duplex(64 * 1024);
    let (from_client, to_client) = io::split(client);
    let (to_client, desired) =
        (Mutex::new(to_client), StreamOptions { stdout: true, ..StreamOptions::default() });
    let breaks_off = async move {
        // Both streams have been opened with this.
        while far.read_u8().await.expect("an open connection") != b'o' {}
        while far.read_u8().await.expect("an open connection") != b'u' {}
        drop(far);
    };
    let (reported, ()) = tokio::join!(carry(from_client, &to_client, node, desired), breaks_off);
    let reported = reported.expect("streams").expect("the node's end came first");
    let status: Value = serde_json::from_slice(&reported).expect("a Status");
    assert_eq!(status["reason"], "InternalError");
}
