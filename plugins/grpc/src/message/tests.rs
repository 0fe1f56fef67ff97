//! Messages as bytes.

use super::{request, status};

#[test]
fn messages_are_framed_protobuf() {
    assert_eq!(request("")[..], [0, 0, 0, 0, 0]);
    assert_eq!(request("db")[..], [0, 0, 0, 0, 4, 0x0a, 2, b'd', b'b']);
    let long = request(&"x".repeat(300));
    assert_eq!(long[..8], [0, 0, 0, 1, 47, 0x0a, 0xac, 2]);
    // Bytes of an answer → its status.
    let cases: [(&[u8], Option<u64>); 9] = [
        (&[0, 0, 0, 0, 2, 8, 1], Some(1)),
        (&[0, 0, 0, 0, 3, 8, 0x81, 1], Some(129)),
        (&[0, 0, 0, 0, 0], Some(0)),
        (&[0, 0, 0, 0, 11, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1], Some(1)),
        (&[0, 0, 0, 0, 7, 0x25, 0, 0, 0, 0, 8, 2], Some(2)),
        (&[1, 0, 0, 0, 2, 8, 1], None),
        (&[0, 0, 0, 0, 3, 8, 1], None),
        (&[0, 0, 0, 0, 1, 0x0b], None),
        (&[0, 0], None),
    ];
    for (bytes, expected) in cases {
        assert_eq!(status(bytes), expected, "{bytes:?}");
    }
    let overlong = [&[0, 0, 0, 0, 12, 8][..], &[0xff; 11]].concat();
    assert_eq!(status(&overlong), None);
}
