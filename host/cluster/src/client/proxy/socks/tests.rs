//! What goes over the wire, byte by byte.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::connect;

const USER: Option<(&str, &str)> = Some(("me", "pw"));

/// What the proxy receives, and what it says then.
type Exchange<'a> = (&'a [u8], &'a [u8]);

/// Plays the proxy: receives what is expected and answers, in turns. Gives the outcome, and what was read of `rest`.
async fn played(
    host: &str,
    credentials: Option<(&str, &str)>,
    exchanges: &[Exchange<'_>],
) -> Result<String, String> {
    let (mut near, mut far) = tokio::io::duplex(1024);
    let proxy = async {
        for (received, said) in exchanges {
            let mut message = vec![0; received.len()];
            far.read_exact(&mut message).await.expect("the whole message");
            assert_eq!(message, *received);
            far.write_all(said).await.expect("it listens");
        }
        drop(far);
    };
    let asking = async {
        connect(&mut near, host, 6443, credentials).await.map_err(|error| error.to_string())?;
        let mut rest = String::new();
        near.read_to_string(&mut rest).await.map_err(|error| error.to_string())?;
        Ok(rest)
    };
    tokio::join!(asking, proxy).0
}

const PORT: [u8; 2] = 6443_u16.to_be_bytes();

fn request(address: &[u8]) -> Vec<u8> {
    [&[5, 1, 0], address, &PORT].concat()
}

#[tokio::test]
async fn addresses_are_asked_for_as_addresses_and_names_as_names() {
    let v6 = [4, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let cases: [(&str, &[u8]); 4] = [
        ("10.1.2.3", &[1, 10, 1, 2, 3]),
        ("fd00::1", &v6),
        ("api.example", b"\x03\x0bapi.example"),
        ("::ffff:10.1.2.3", &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3]),
    ];
    // What stands behind the address that the proxy says is the server's.
    let replies: [&[u8]; 3] = [
        &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0, b'h', b'i'],
        &[5, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'h', b'i'],
        &[5, 0, 0, 3, 1, b'p', 0, 0, b'h', b'i'],
    ];
    for (host, address) in cases {
        for reply in replies {
            let exchanges: [Exchange<'_>; 2] = [(&[5, 1, 0], &[5, 0]), (&request(address), reply)];
            assert_eq!(played(host, None, &exchanges).await, Ok("hi".to_owned()), "{host}");
        }
    }
}

#[tokio::test]
async fn user_and_password_are_shown_where_they_are_requested() {
    let (asked, reply): (&[u8], &[u8]) = (&request(&[1, 10, 1, 2, 3]), &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    let offered: &[u8] = &[5, 2, 0, 2];
    let shown: &[u8] = b"\x01\x02me\x02pw";
    let outcome = played("10.1.2.3", USER, &[(offered, &[5, 2]), (shown, &[1, 0]), (asked, reply)]).await;
    assert_eq!(outcome, Ok(String::new()));
    let outcome = played("10.1.2.3", USER, &[(offered, &[5, 0]), (asked, reply)]).await;
    assert_eq!(outcome, Ok(String::new()), "no one wants to know");
    let exchanges: [Exchange<'_>; 3] = [(offered, &[5, 2]), (b"\x01\x02me\x00", &[1, 0]), (asked, reply)];
    assert_eq!(played("10.1.2.3", Some(("me", "")), &exchanges).await, Ok(String::new()), "no password");
    let outcome = played("10.1.2.3", USER, &[(offered, &[5, 2]), (shown, &[1, 1])]).await;
    assert_eq!(outcome, Err("SOCKS: the proxy rejected user and password".to_owned()));
}

#[tokio::test]
async fn a_proxy_that_does_not_connect_is_an_error_with_words() {
    let greeting: &[u8] = &[5, 1, 0];
    let asked: &[u8] = &request(&[1, 10, 1, 2, 3]);
    let cases: [(&[Exchange<'_>], &str); 9] = [
        (&[(greeting, &[4, 0])], "SOCKS: the proxy speaks version 4"),
        (&[(greeting, &[5, 2])], "SOCKS: the proxy requires another authentication method"),
        (&[(greeting, &[5, 255])], "SOCKS: the proxy requires another authentication method"),
        (&[(greeting, &[5])], "SOCKS: unexpected end of file"),
        (&[(greeting, &[5, 0]), (asked, &[5, 5, 0, 1])], "SOCKS: connection refused"),
        (&[(greeting, &[5, 0]), (asked, &[5, 2, 0, 1])], "SOCKS: connection not allowed by ruleset"),
        (&[(greeting, &[5, 0]), (asked, &[5, 99, 0, 1])], "SOCKS: unknown error"),
        (
            &[(greeting, &[5, 0]), (asked, &[5, 0, 0, 2])],
            "SOCKS: unknown address type 2 in the proxy's response",
        ),
        (&[(greeting, &[5, 0]), (asked, &[5, 0, 0, 1, 0, 0])], "SOCKS: early eof"),
    ];
    for (exchanges, expected) in cases {
        assert_eq!(played("10.1.2.3", None, exchanges).await, Err(expected.to_owned()));
    }
    let long = "a".repeat(256);
    for (host, credentials) in
        [(long.as_str(), None), ("h", Some(("", "pw"))), ("h", Some(("me", long.as_str())))]
    {
        let exchanges: &[Exchange<'_>] = match credentials {
            None => &[(greeting, &[5, 0])],
            Some(_) => &[(&[5, 2, 0, 2], &[5, 2])],
        };
        let outcome = played(host, credentials, exchanges).await;
        let expected = "SOCKS: user and host must have 1 to 255 bytes, the password at most 255";
        assert_eq!(outcome, Err(expected.to_owned()));
    }
}
