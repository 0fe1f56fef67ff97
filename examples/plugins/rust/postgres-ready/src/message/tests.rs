//! Messages as bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{ANSWER_BYTES_MAX, Malformed, StartupReply, answer, startup};

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("it is short");
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

fn error(fields: &[(u8, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, text) in fields {
        body.push(*kind);
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    message(b'E', &body)
}

#[test]
fn the_first_message_names_user_and_database() {
    let expected = b"\0\0\0\x20\0\x03\0\0user\0app\0database\0shop\0\0";
    assert_eq!(startup("app", "shop"), expected);
}

#[test]
fn a_server_that_isnt_starting_or_stopping_accepts() {
    let of = |code: &str| error(&[(b'S', "FATAL"), (b'C', code), (b'M', "the words"), (b'R', "x")]);
    let rejects = Ok(Some(StartupReply::Rejects("the words".to_owned())));
    let accepts = Ok(Some(StartupReply::Accepts));
    let cases = [
        (message(b'R', &[0, 0, 0, 10]), accepts.clone()),
        (message(b'R', &[0, 0, 0, 0]), accepts.clone()),
        (of("57P03"), rejects.clone()),
        (of("28000"), accepts.clone()),
        (of("3D000"), accepts.clone()),
        (of("53300"), accepts.clone()),
        ([message(b'N', b"notice"), of("57P03")].concat(), rejects),
        ([message(b'v', &[0; 8]), message(b'R', &[0; 4])].concat(), accepts),
        (error(&[(b'M', "no code")]), Err(Malformed)),
        (error(&[(b'C', "1")]), Err(Malformed)),
        (message(b'E', b"Cxxxxx"), Err(Malformed)),
        (message(b'Z', b"I"), Err(Malformed)),
        (b"HTTP/1.1 400 Bad Request".to_vec(), Err(Malformed)),
        (b"R\0\0\0\x03".to_vec(), Err(Malformed)),
        (b"R\xff\xff\xff\xff".to_vec(), Err(Malformed)),
        (vec![], Ok(None)),
        (b"R\0\0".to_vec(), Ok(None)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(answer(&bytes), expected, "{:?}", String::from_utf8_lossy(&bytes));
    }
    let largest = u32::try_from(ANSWER_BYTES_MAX).expect("it is small").to_be_bytes();
    assert_eq!(answer(&[&b"E"[..], &largest].concat()), Ok(None));
}

proptest! {
    #[test]
    fn a_beginning_says_nothing_yet_or_what_the_whole_says(
        kinds in vec(prop::sample::select(b"RENvX".to_vec()), 1..4),
        body in vec(any::<u8>(), 0..40),
        noise in vec(any::<u8>(), 0..20),
        cut in 0_usize..120,
    ) {
        let messages: Vec<u8> = kinds.iter().flat_map(|kind| message(*kind, &body)).collect();
        let bytes = [messages, noise].concat();
        let beginning = answer(&bytes[..cut.min(bytes.len())]);
        prop_assert!(beginning == Ok(None) || beginning == answer(&bytes));
    }
}
