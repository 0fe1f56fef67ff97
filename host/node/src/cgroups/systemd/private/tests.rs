//! What is done to the bytes of a connection. That zbus goes on with them is in the driver's own tests, whose systemd names itself.

use super::{FIELDS_MAX, LINE_MAX, first};

const WELL_KNOWN: &str = "org.freedesktop.systemd1";
const UNIQUE: &str = ":rg.freedesktop.systemd1";

/// An answer with this sender, and where its body of five bytes begins.
fn answer(sender: &str, is_big: bool) -> (Vec<u8>, usize) {
    let number = |number: u32| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let mut fields = vec![5, 1, b'u', 0];
    fields.extend(number(7));
    fields.extend([8, 1, b'g', 0, 2, b's', b's', 0]);
    fields.extend([7, 1, b's', 0]);
    fields.extend(number(sender.len() as u32));
    fields.extend([sender.as_bytes(), &[0]].concat());
    let mut message = vec![if is_big { b'B' } else { b'l' }, 2, 1, 1];
    message.extend([number(5), number(1), number(fields.len() as u32)].concat());
    message.extend(fields);
    message.resize(message.len().next_multiple_of(8), 0);
    let body = message.len();
    message.extend(b"12345");
    (message, body)
}

#[test]
fn well_known_name_of_systemd_becomes_a_unique_one() {
    let others = [":1.7", "org.freedesktop.DBus", "org.freedesktop.systemd2", "", UNIQUE];
    for is_big in [false, true] {
        let (mut named, body) = answer(WELL_KNOWN, is_big);
        for length in 0..body - 8 {
            assert_eq!(first(&mut named[..length]).unwrap(), None, "{length} bytes");
        }
        assert_eq!(first(&mut named[..body]).unwrap(), Some(named.len()), "the body isn't waited for");
        assert_eq!(named, answer(UNIQUE, is_big).0);
        for other in others {
            let (mut message, _) = answer(other, is_big);
            assert_eq!(first(&mut message).unwrap(), Some(message.len()));
            assert_eq!(message, answer(other, is_big).0, "{other}");
        }
    }
}

#[test]
fn lines_of_the_handshake_are_passed_on_as_they_are() {
    let mut lines = b"OK 0123\r\nlong".to_vec();
    assert_eq!(first(&mut lines).unwrap(), Some(9));
    assert_eq!(lines, b"OK 0123\r\nlong");
    assert_eq!(first(&mut []).unwrap(), None);
    assert_eq!(first(&mut b"OK 01".to_vec()).unwrap(), None);
    let endless = first(&mut vec![b'O'; LINE_MAX + 1]).unwrap_err().to_string();
    assert_eq!(endless, "systemd sent a line of more than 16384 bytes in the handshake");
}

#[test]
fn headers_that_are_none_are_left_to_zbus() {
    let (message, body) = answer(WELL_KNOWN, false);
    for at in 16..body {
        for byte in [0, 1, 7, b's', b'g', 255] {
            let mut broken = message.clone();
            broken[at] = byte;
            assert_eq!(first(&mut broken).unwrap(), Some(message.len()), "{byte} at {at}");
        }
    }
    let mut large = message;
    large[12..16].copy_from_slice(&(FIELDS_MAX as u32 + 1).to_le_bytes());
    let problem = first(&mut large).unwrap_err().to_string();
    assert_eq!(problem, "systemd sent a header of 65537 bytes; the most is 65536");
    large[12..16].copy_from_slice(&0_u32.to_le_bytes());
    large[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(first(&mut large).unwrap(), Some(16 + u32::MAX as usize), "zbus bounds a body");
}
