//! Examples of RFC 7541, and bytes of any kind.

use proptest::collection::vec;
use proptest::prelude::*;

use super::huffman::LENGTHS;
use super::{DECODED_BYTES_MAX, Decoder, Header, Malformed, integer, write};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

fn shown(headers: &[Header]) -> Vec<String> {
    headers
        .iter()
        .map(|(name, value)| format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
        .collect()
}

/// The code of a text, made from the lengths another way than the decoder's tables.
fn packed(text: &[u8]) -> Vec<u8> {
    let mut symbols: Vec<usize> = (0..LENGTHS.len()).collect();
    symbols.sort_by_key(|symbol| (LENGTHS[*symbol], *symbol));
    let mut codes = vec![0_u64; LENGTHS.len()];
    let (mut code, mut length) = (0_u64, 0);
    for symbol in symbols {
        code <<= LENGTHS[symbol] - length;
        length = LENGTHS[symbol];
        codes[symbol] = code;
        code += 1;
    }
    let mut bits = String::new();
    for byte in text {
        let symbol = usize::from(*byte);
        let width = usize::from(LENGTHS[symbol]);
        bits.push_str(&format!("{:0width$b}", codes[symbol]));
    }
    while !bits.len().is_multiple_of(8) {
        bits.push('1');
    }
    bits.as_bytes()
        .chunks(8)
        .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).expect("ASCII"), 2).expect("binary"))
        .collect()
}

#[test]
fn the_rfcs_responses_are_decoded_on_one_connection() {
    // Appendix C.6 with a table of 256 bytes: packed texts, entries that are pushed out.
    let mut decoder = Decoder::default();
    let blocks = [
        (
            "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d
             29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            vec![
                ":status: 302",
                "cache-control: private",
                "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ],
        ),
        (
            "4883 640e ffc1 c0bf",
            vec![
                ":status: 307",
                "cache-control: private",
                "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ],
        ),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7
             b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            vec![
                ":status: 200",
                "cache-control: private",
                "date: Mon, 21 Oct 2013 20:13:22 GMT",
                "location: https://www.example.com",
                "content-encoding: gzip",
                "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            ],
        ),
    ];
    for (block, expected) in blocks {
        let headers = decoder.decode(&hex(block)).expect("the RFC's own");
        assert_eq!(shown(&headers), expected);
    }
}

#[test]
fn blocks_without_packing_and_without_remembering_are_decoded() {
    let cases = [
        // Appendix C.2.
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            vec!["custom-key: custom-header"],
        ),
        ("040c 2f73 616d 706c 652f 7061 7468", vec![":path: /sample/path"]),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", vec!["password: secret"]),
        ("82", vec![":method: GET"]),
        ("", vec![]),
        // What was never remembered has no number.
        ("8882 04", vec![]),
    ];
    for (block, expected) in &cases[..5] {
        assert_eq!(shown(&Decoder::default().decode(&hex(block)).expect("the RFC's own")), *expected);
    }
    assert_eq!(Decoder::default().decode(&hex(cases[5].0)), Err(Malformed));
}

#[test]
fn what_is_no_block_is_refused() {
    let cases = [
        ("80", "number 0"),
        ("be", "an unknown number"),
        ("ffffffffffff7f", "an endless number"),
        ("40", "no name"),
        ("4001", "half a name"),
        ("400161", "no value"),
        ("4001610561", "half a value"),
        ("3fe21f", "a table of 4097 bytes"),
        ("8820", "a size after a header"),
        ("0001618400000000", "a code that ends in the middle of a symbol"),
        ("00016184ffffffff", "the end of a text within it"),
        ("00016182 1fff", "padding of a whole byte"),
    ];
    for (block, why) in cases {
        assert_eq!(Decoder::default().decode(&hex(block)), Err(Malformed), "{why}");
    }
}

#[test]
fn headers_that_are_many_once_they_are_decoded_are_refused() {
    // One header of 1 KiB, and then its number, again and again: each costs a byte.
    let mut block = vec![0x40];
    let value = "v".repeat(1_000);
    let mut literal = Vec::new();
    write(&mut literal, "name", &value);
    block.extend_from_slice(&literal[1..]);
    let few = DECODED_BYTES_MAX / (1_000 + 4 + 32) - 1;
    let allowed = [block.clone(), vec![0xbe; few]].concat();
    assert_eq!(Decoder::default().decode(&allowed).expect("as many as allowed").len(), few + 1);
    let too_many = [block, vec![0xbe; few + 1]].concat();
    assert_eq!(Decoder::default().decode(&too_many), Err(Malformed));
}

proptest! {
    #[test]
    fn what_is_written_is_read(name in "[a-z-]{1,200}", value in "[ -~]{0,300}") {
        let mut block = Vec::new();
        write(&mut block, &name, &value);
        let expected = vec![(name.into_bytes(), value.into_bytes())];
        prop_assert_eq!(Decoder::default().decode(&block), Ok(expected));
    }

    #[test]
    fn packed_texts_are_read(value in vec(any::<u8>(), 0..100)) {
        let packed = packed(&value);
        prop_assume!(packed.len() < 0x7f);
        let length = u8::try_from(packed.len()).expect("it is short");
        let block = [&[0, 1, b'n', 0x80 | length][..], &packed].concat();
        prop_assert_eq!(Decoder::default().decode(&block), Ok(vec![(b"n".to_vec(), value)]));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused_within_bounds(blocks in vec(vec(any::<u8>(), 0..200), 1..5)) {
        let mut decoder = Decoder::default();
        for block in blocks {
            if let Ok(headers) = decoder.decode(&block) {
                let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
                prop_assert!(bytes <= DECODED_BYTES_MAX);
            }
        }
    }

    #[test]
    fn integers_are_read_whatever_their_prefix(value in 0_usize..(1 << 20), bits in 4_u32..8) {
        let mut bytes = Vec::new();
        let max = (1 << bits) - 1;
        if value < max {
            bytes.push(u8::try_from(value).expect("it is small"));
        } else {
            bytes.push(u8::try_from(max).expect("it is small"));
            let mut rest = value - max;
            while rest >= 0x80 {
                bytes.push(u8::try_from(rest & 0x7f).expect("it is small") | 0x80);
                rest >>= 7;
            }
            bytes.push(u8::try_from(rest).expect("it is small"));
        }
        prop_assert_eq!(integer(&mut &bytes[..], bits), Ok(value));
    }
}
