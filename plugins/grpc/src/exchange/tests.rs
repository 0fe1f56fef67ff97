//! Answers frame by frame, good and bad.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{ANSWER_BYTES_MAX, Exchange, PARTS_MAX, PREFACE, RECEIVED_BYTES_MAX};
use crate::frame::{self, Head};
use crate::hpack;
use crate::status::{INTERNAL, Status, UNAVAILABLE, UNIMPLEMENTED, UNKNOWN};

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, kind, flags, stream, payload);
    bytes
}

fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        hpack::write(&mut bytes, name, value);
    }
    bytes
}

fn settings() -> Vec<u8> {
    frame(frame::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])
}

fn headers() -> Vec<u8> {
    let block = block(&[(":status", "200"), ("content-type", "application/grpc+proto")]);
    frame(frame::HEADERS, frame::END_HEADERS, 1, &block)
}

fn data() -> Vec<u8> {
    frame(frame::DATA, 0, 1, &[0, 0, 0, 0, 2, 8, 1])
}

fn trailers(code: &str, message: &str) -> Vec<u8> {
    let block = block(&[("grpc-status", code), ("grpc-message", message)]);
    frame(frame::HEADERS, frame::END_HEADERS | frame::END_STREAM, 1, &block)
}

fn receive(bytes: &[u8]) -> Result<Option<u64>, Status> {
    Exchange::new("a:1", "").receive(bytes)
}

#[test]
fn the_request_is_a_preface_settings_headers_and_a_message() {
    let output = Exchange::new("10.0.0.7:9000", "db").take_output();
    let mut rest = output.strip_prefix(PREFACE).expect("the preface");
    let mut frames = Vec::new();
    while let Some(head) = Head::read(rest) {
        let payload = &rest[frame::HEAD_BYTES..][..head.payload_bytes];
        frames.push((head.kind, head.flags, head.stream, payload.to_vec()));
        rest = &rest[frame::HEAD_BYTES + head.payload_bytes..];
    }
    assert_eq!(frames.len(), 3, "{frames:?}");
    assert_eq!((frames[0].0, frames[0].2), (frame::SETTINGS, 0));
    let (kind, flags, stream, block) = &frames[1];
    assert_eq!((*kind, *flags, *stream), (frame::HEADERS, frame::END_HEADERS, 1));
    let headers = hpack::Decoder::default().decode(block).expect("our own");
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
        .collect();
    let expected = [
        ":method: POST",
        ":scheme: http",
        ":path: /grpc.health.v1.Health/Check",
        ":authority: 10.0.0.7:9000",
        "content-type: application/grpc",
        "te: trailers",
        "user-agent: kube-probe/1.36",
    ];
    assert_eq!(headers, expected);
    assert_eq!(frames[2], (frame::DATA, frame::END_STREAM, 1, vec![0, 0, 0, 0, 4, 0x0a, 2, b'd', b'b']));
}

#[test]
fn an_answer_is_taken_in_whatever_frames_it_comes() {
    let half = block(&[(":status", "200"), ("content-type", "application/grpc")]);
    let (first, second) = half.split_at(10);
    let padded = [&[3][..], &half, &[0; 3]].concat();
    let with_priority = [&[0; 5][..], &half].concat();
    let interim = frame(frame::HEADERS, frame::END_HEADERS, 1, &block(&[(":status", "103"), ("link", "x")]));
    let beginnings: [(&str, Vec<u8>); 5] = [
        ("whole", headers()),
        (
            "continued",
            [
                frame(frame::HEADERS, 0, 1, first),
                frame(frame::CONTINUATION, 0, 1, &[]),
                frame(frame::CONTINUATION, frame::END_HEADERS, 1, second),
            ]
            .concat(),
        ),
        ("padded", frame(frame::HEADERS, frame::END_HEADERS | frame::PADDED, 1, &padded)),
        ("with a priority", frame(frame::HEADERS, frame::END_HEADERS | frame::PRIORITY, 1, &with_priority)),
        ("after an interim one", [interim, headers()].concat()),
    ];
    for (what, beginning) in beginnings {
        let bytes = [settings(), beginning, data(), trailers("0", "")].concat();
        assert_eq!(receive(&bytes), Ok(Some(1)), "{what}");
    }
    let unknown = frame(0x42, 0xff, 7, b"whatever");
    let windows = frame(8, 0, 0, &[0, 0, 1, 0]);
    let in_parts =
        [frame(frame::DATA, 0, 1, &[0, 0, 0]), frame(frame::DATA, frame::PADDED, 1, &[2, 0, 2, 8, 2, 0, 0])];
    let bytes = [settings(), windows, unknown, headers(), in_parts.concat(), trailers("0", "")].concat();
    assert_eq!(receive(&bytes), Ok(Some(2)));
}

#[test]
fn settings_and_pings_are_acknowledged() {
    let mut exchange = Exchange::new("a:1", "");
    exchange.take_output();
    let ping = frame(frame::PING, 0, 0, b"12345678");
    let acknowledgements =
        [frame(frame::SETTINGS, frame::ACK, 0, &[]), frame(frame::PING, frame::ACK, 0, b"87654321")];
    let bytes = [settings(), ping, acknowledgements.concat()].concat();
    assert_eq!(exchange.receive(&bytes), Ok(None));
    let expected =
        [frame(frame::SETTINGS, frame::ACK, 0, &[]), frame(frame::PING, frame::ACK, 0, b"12345678")].concat();
    assert_eq!(exchange.take_output(), expected);
    assert!(exchange.take_output().is_empty());
}

#[test]
fn a_call_that_ends_badly_has_its_status() {
    let of =
        |frames: &[Vec<u8>]| receive(&[settings(), frames.concat()].concat()).expect_err("it ends badly");
    let only = |headers: &[(&str, &str)]| {
        frame(frame::HEADERS, frame::END_HEADERS | frame::END_STREAM, 1, &block(headers))
    };
    let trailers_only = |code: &str, message: &str| {
        let (status, kind) = ((":status", "200"), ("content-type", "application/grpc"));
        only(&[status, kind, ("grpc-status", code), ("grpc-message", message)])
    };
    let http = |status: &str| only(&[(":status", status), ("content-type", "application/grpc")]);
    let unexpected = |status: &str| format!("unexpected HTTP status code received from server: {status}");
    let cases = [
        (of(&[trailers_only("12", "no%20such%20method")]), Status::new(UNIMPLEMENTED, "no such method")),
        (of(&[trailers_only("5", "unknown service")]), Status::new(5, "unknown service")),
        (of(&[trailers_only("x", "")]), Status::new(UNKNOWN, "")),
        (of(&[headers(), trailers("14", "shutting down")]), Status::new(14, "shutting down")),
        (of(&[headers(), data(), trailers("99", "new")]), Status::new(99, "new")),
        (of(&[headers(), trailers("0", "")]), Status::new(INTERNAL, "malformed answer")),
        (
            of(&[headers(), frame(frame::DATA, frame::END_STREAM, 1, &[0, 0, 0, 0, 2, 8, 1])]),
            Status::new(INTERNAL, "server closed the stream without sending trailers"),
        ),
        (of(&[http("503")]), Status::new(UNAVAILABLE, unexpected("503"))),
        (of(&[http("404")]), Status::new(UNIMPLEMENTED, unexpected("404"))),
        (of(&[http("500")]), Status::new(UNKNOWN, unexpected("500"))),
        (
            of(&[only(&[(":status", "200"), ("content-type", "text/html")])]),
            Status::new(
                UNKNOWN,
                unexpected("200") + "; transport: received unexpected content-type \"text/html\"",
            ),
        ),
        (
            of(&[only(&[(":status", "200")])]),
            Status::new(UNKNOWN, unexpected("200") + "; malformed header: missing HTTP content-type"),
        ),
        (
            of(&[frame(frame::RST_STREAM, 0, 1, &[0, 0, 0, 7])]),
            Status::broken("stream terminated by RST_STREAM: REFUSED_STREAM"),
        ),
        (
            of(&[frame(frame::GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11, b'c', b'a', b'l', b'm'])]),
            Status::broken("the server goes away: ENHANCE_YOUR_CALM \"calm\""),
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_server_that_goes_away_may_still_answer_what_it_has_taken() {
    let goaway = frame(frame::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let bytes = [settings(), goaway.clone(), headers(), data(), trailers("0", "")].concat();
    assert_eq!(receive(&bytes), Ok(Some(1)));
    let mut exchange = Exchange::new("a:1", "");
    assert_eq!(exchange.receive(&[settings(), goaway].concat()), Ok(None));
    assert_eq!(exchange.cut_off(), Status::broken("the server goes away: NO_ERROR \"\""));
    assert_eq!(Exchange::new("a:1", "").cut_off().code, UNAVAILABLE);
}

#[test]
fn what_breaks_http2_ends_the_call() {
    let after_settings = |bytes: Vec<u8>| [settings(), bytes].concat();
    let large = |kind| [&[0, 0x40, 1, kind][..], &[0; 5]].concat();
    let cases = [
        ("another protocol", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("no settings first", headers()),
        ("an acknowledgement first", frame(frame::SETTINGS, frame::ACK, 0, &[])),
        ("settings of a stream", frame(frame::SETTINGS, 0, 1, &[])),
        ("half a setting", frame(frame::SETTINGS, 0, 0, &[0; 5])),
        ("a large frame", after_settings(large(frame::DATA))),
        ("a short ping", after_settings(frame(frame::PING, 0, 0, &[0; 7]))),
        ("a push", after_settings(frame(frame::PUSH_PROMISE, 0, 1, &[0; 4]))),
        ("another stream", after_settings(frame(frame::HEADERS, frame::END_HEADERS, 3, &[]))),
        ("data first", after_settings(data())),
        ("data in headers", after_settings([frame(frame::HEADERS, 0, 1, &[]), data()].concat())),
        ("a continuation of nothing", after_settings(frame(frame::CONTINUATION, 0, 1, &[]))),
        (
            "too much padding",
            after_settings(frame(frame::HEADERS, frame::END_HEADERS | frame::PADDED, 1, &[9, 0])),
        ),
        ("half a priority", after_settings(frame(frame::HEADERS, frame::PRIORITY, 1, &[0; 4]))),
        ("no headers", after_settings(frame(frame::HEADERS, frame::END_HEADERS, 1, &[0x80]))),
        ("headers twice", after_settings([headers(), headers()].concat())),
        ("a short farewell", after_settings(frame(frame::GOAWAY, 0, 0, &[0; 7]))),
        (
            "endless headers",
            after_settings(
                [frame(frame::HEADERS, 0, 1, &[0; 16_000]), frame(frame::CONTINUATION, 0, 1, &[0; 16_000])]
                    .concat(),
            ),
        ),
    ];
    for (what, bytes) in cases {
        let error = receive(&bytes).expect_err(what);
        assert_eq!(error.code, UNAVAILABLE, "{what}: {error}");
    }
}

#[test]
fn an_answer_has_a_bound_and_so_has_all_that_comes() {
    let chunk = frame(frame::DATA, 0, 1, &vec![0; ANSWER_BYTES_MAX + 1]);
    let too_large = receive(&[settings(), headers(), chunk].concat());
    assert_eq!(too_large, Err(Status::new(INTERNAL, "malformed answer")));
    // Padding fills a window as well.
    let padding = frame(frame::DATA, frame::PADDED, 1, &[&[255][..], &[0; 255]].concat());
    let padded = receive(&[settings(), headers(), padding.repeat(20)].concat());
    assert_eq!(padded, Err(Status::new(INTERNAL, "malformed answer")));
    let mut exchange = Exchange::new("a:1", "");
    exchange.take_output();
    let pings = [settings(), frame(frame::PING, 0, 0, &[0; 8]).repeat(1_000)].concat();
    let ended = (0..RECEIVED_BYTES_MAX).find_map(|_| {
        let received = exchange.receive(&pings);
        assert!(exchange.take_output().len() <= pings.len(), "an answer to each");
        received.err()
    });
    assert_eq!(ended, Some(Status::new(INTERNAL, "malformed answer")));
}

#[test]
fn an_answer_that_comes_almost_byte_by_byte_is_given_up() {
    let mut exchange = Exchange::new("a:1", "");
    let pings = [settings(), frame(frame::PING, 0, 0, &[0; 8]).repeat(100)].concat();
    for byte in &pings[..PARTS_MAX] {
        assert_eq!(exchange.receive(&[*byte]), Ok(None));
    }
    assert_eq!(exchange.receive(&pings[PARTS_MAX..]), Err(Status::new(INTERNAL, "malformed answer")));
}

/// Bytes of frames: sound ones, and ones of any kind.
fn any_frames() -> impl Strategy<Value = Vec<u8>> {
    let sound = prop_oneof![
        Just(headers()),
        Just(data()),
        Just(trailers("0", "")),
        Just(trailers("14", "x")),
        Just(settings()),
        Just(frame(frame::PING, 0, 0, &[1; 8])),
    ];
    let strange = (0_u8..12, any::<u8>(), 0_u32..3, vec(any::<u8>(), 0..40))
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    let noise = vec(any::<u8>(), 0..20);
    vec(prop_oneof![6 => sound, 2 => strange, 1 => noise], 0..12)
        .prop_map(|frames| [settings(), frames.concat()].concat())
}

proptest! {
    #[test]
    fn how_the_bytes_are_cut_makes_no_difference(bytes in any_frames(), cuts in vec(1_usize..50, 1..50)) {
        let mut whole = Exchange::new("a:1", "");
        let expected = whole.receive(&bytes);
        let mut cut = Exchange::new("a:1", "");
        let mut found = Ok(None);
        let mut rest = &bytes[..];
        for length in cuts.iter().cycle() {
            if rest.is_empty() || found != Ok(None) {
                break;
            }
            let (now, later) = rest.split_at((*length).min(rest.len()));
            found = cut.receive(now);
            rest = later;
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(cut.take_output(), whole.take_output());
    }
}
