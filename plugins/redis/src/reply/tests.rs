//! Answers, whole and in parts.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Malformed, Reply, TEXT_BYTES_MAX, reply};

fn text(text: &str) -> Result<Option<Reply>, Malformed> {
    Ok(Some(Reply::Text(text.to_owned())))
}

#[test]
fn answers_are_read_as_redis_frames_them() {
    let error = |text: &str| Ok(Some(Reply::Error(text.to_owned())));
    let array = |first: Option<&str>| Ok(Some(Reply::Array(first.map(str::to_owned))));
    let cases: [(&[u8], _); 20] = [
        (b"+PONG\r\n", text("PONG")),
        (b"+PONG\r\n+more\r\n", text("PONG")),
        (b":7\r\n", text("7")),
        (b"-NOAUTH Authentication required.\r\n", error("NOAUTH Authentication required.")),
        (b"$4\r\nPONG\r\n", text("PONG")),
        (b"$0\r\n\r\n", text("")),
        (b"$-1\r\n", text("")),
        (b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", array(Some("master"))),
        (b"*5\r\n$5\r\nslave\r\n", array(Some("slave"))),
        (b"*1\r\n+sentinel\r\n", array(Some("sentinel"))),
        (b"*0\r\n", array(None)),
        (b"*-1\r\n", array(None)),
        (b"*1\r\n$-1\r\n", array(None)),
        (b"\r\n", Err(Malformed)),
        (b"HTTP/1.1 400 Bad Request\r\n", Err(Malformed)),
        (b"$x\r\n", Err(Malformed)),
        (b"$+4\r\nPONG\r\n", Err(Malformed)),
        (b"$3\r\nPONG\r\n", Err(Malformed)),
        (b"$99999999999999999999\r\n", Err(Malformed)),
        (b"*1\r\n*1\r\n", Err(Malformed)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(reply(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn an_answer_has_a_bound() {
    let endless = vec![b'+'; TEXT_BYTES_MAX + 1];
    assert_eq!(reply(&endless[..TEXT_BYTES_MAX]), Ok(None));
    assert_eq!(reply(&endless), Err(Malformed));
    assert_eq!(reply(b"$1025\r\n"), Err(Malformed));
    let largest = format!("$1024\r\n{}\r\n", "x".repeat(TEXT_BYTES_MAX));
    assert_eq!(reply(largest.as_bytes()), text(&"x".repeat(TEXT_BYTES_MAX)));
}

proptest! {
    #[test]
    fn a_beginning_says_nothing_yet_or_what_the_whole_says(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..60),
            Just(b"*3\r\n$6\r\nmaster\r\n:0\r\n".to_vec()),
            Just(b"$4\r\nPONG\r\n".to_vec()),
            vec(prop::sample::select(b"+-$*:\r\n0123456789ab".to_vec()), 0..60),
        ],
        cut in 0_usize..60,
    ) {
        let whole = reply(&bytes);
        let beginning = reply(&bytes[..cut.min(bytes.len())]);
        prop_assert!(beginning == Ok(None) || beginning == whole, "{:?} then {:?}", beginning, whole);
    }
}
