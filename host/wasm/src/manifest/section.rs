//! The custom section of a component that holds its manifest, among the sections of the component itself.

use std::ops::Range;

use thiserror::Error;

use crate::compile::{self, CompileError};

/// The name of the custom section.
pub const SECTION: &str = "witlet:manifest";
/// The length of a component's header.
const HEADER_BYTES: usize = 8;
/// The number of a custom section.
const CUSTOM: u8 = 0;
/// How many bytes the LEB128 form of a 32-bit number has at most.
const LENGTH_BYTES_MAX: u32 = 5;

/// Why a section can't be put into a component.
#[derive(Debug, Error)]
pub enum SectionError {
    #[error(transparent)]
    NotAComponent(#[from] CompileError),
    /// It begins as one and breaks off.
    #[error("the component is damaged at byte {offset}: a section does not end inside of it")]
    Damaged {
        /// Where the section begins.
        offset: usize,
    },
}

/// A section at the top of a component.
struct Section<'a> {
    /// With its number and its length.
    range: Range<usize>,
    number: u8,
    contents: &'a [u8],
}

/// The contents of the sections with the manifest's name, in their order. What comes after damage says nothing: the compiler reports it.
pub(super) fn find(wasm: &[u8]) -> Vec<&[u8]> {
    if compile::check_header(wasm).is_err() {
        return Vec::new();
    }
    sections(wasm).map_while(Result::ok).filter_map(|section| manifest(&section)).collect()
}

/// The component with these contents as its only section of the name, at its end.
pub(super) fn replaced(wasm: &[u8], contents: &[u8]) -> Result<Vec<u8>, SectionError> {
    compile::check_header(wasm)?;
    let mut made = wasm.get(..HEADER_BYTES).unwrap_or(wasm).to_vec();
    for section in sections(wasm) {
        let section = section?;
        if manifest(&section).is_none() {
            made.extend_from_slice(&wasm[section.range]);
        }
    }
    let body = [&leb128(SECTION.len()), SECTION.as_bytes(), contents].concat();
    made.push(CUSTOM);
    made.extend(leb128(body.len()));
    made.extend(body);
    Ok(made)
}

/// Returns what the section holds, if it is one with the manifest's name.
fn manifest<'a>(section: &Section<'a>) -> Option<&'a [u8]> {
    if section.number != CUSTOM {
        return None;
    }
    let (length, read) = read_leb128(section.contents)?;
    let rest = section.contents.get(read..)?;
    (rest.get(..length)? == SECTION.as_bytes()).then(|| &rest[length..])
}

/// The sections after the header. Ends after the first that is damaged.
fn sections(wasm: &[u8]) -> impl Iterator<Item = Result<Section<'_>, SectionError>> {
    let mut at = HEADER_BYTES;
    std::iter::from_fn(move || {
        let number = *wasm.get(at)?;
        let begin = at;
        let section = read_leb128(&wasm[at + 1..]).and_then(|(length, read)| {
            let contents = wasm.get(at + 1 + read..)?.get(..length)?;
            Some(Section { range: begin..at + 1 + read + length, number, contents })
        });
        at = section.as_ref().map_or(wasm.len(), |section| section.range.end);
        Some(section.ok_or(SectionError::Damaged { offset: begin }))
    })
}

/// A length, and how many bytes it takes.
fn read_leb128(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_u64;
    for (at, byte) in (0..LENGTH_BYTES_MAX).zip(bytes) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(u32::try_from(value).ok()?).ok()?, at as usize + 1));
        }
    }
    None
}

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

    fn custom(name: &str, data: &[u8]) -> Vec<u8> {
        let body = [&leb128(name.len()), name.as_bytes(), data].concat();
        [&[CUSTOM][..], &leb128(body.len()), &body].concat()
    }

    fn component(sections: &[Vec<u8>]) -> Vec<u8> {
        [HEADER.to_vec(), sections.concat()].concat()
    }

    #[test]
    fn the_section_is_put_at_the_end_and_takes_the_place_of_older_ones() {
        let other = custom("producers", b"\0");
        let long = vec![b'x'; 300];
        let before = component(&[custom(SECTION, b"1"), other.clone(), custom(SECTION, &long)]);
        assert_eq!(find(&before), [b"1".as_slice(), &long]);
        let after = replaced(&before, &long).expect("a component");
        assert_eq!(after, component(&[other.clone(), custom(SECTION, &long)]));
        assert_eq!(replaced(&after, &long).expect("a component"), after, "the same bytes once more");
        assert_eq!(replaced(&component(std::slice::from_ref(&other)), b"").expect("a component"), {
            component(&[other, custom(SECTION, b"")])
        });
    }

    #[test]
    fn a_section_of_what_is_nested_is_not_the_components() {
        let module = [b"\0asm\x01\0\0\0".to_vec(), custom(SECTION, b"of the module")].concat();
        let nested = [&[1][..], &leb128(module.len()), &module].concat();
        let wasm = component(&[nested]);
        assert!(find(&wasm).is_empty());
        assert_eq!(find(&replaced(&wasm, b"own").expect("a component")), [b"own"]);
    }

    #[test]
    fn a_real_component_is_the_same_but_for_the_section() {
        let wasm = witlet_test_guests::NO_LATEST_TAG;
        assert!(find(wasm).is_empty());
        let with = replaced(wasm, b"{}").expect("a component");
        assert_eq!(with, [wasm, &custom(SECTION, b"{}")].concat());
        assert_eq!(find(&with), [b"{}"]);
    }

    #[test]
    fn what_is_damaged_or_no_component_is_refused_and_says_nothing() {
        let good = component(&[custom(SECTION, b"1"), custom("x", b"22")]);
        let cut = &good[..good.len() - 1];
        assert_eq!(find(cut), [b"1"]);
        assert!(matches!(replaced(cut, b""), Err(SectionError::Damaged { .. })));
        let endless = component(&[vec![CUSTOM, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]]);
        assert!(matches!(replaced(&endless, b""), Err(SectionError::Damaged { offset: HEADER_BYTES })));
        for none in [b"".as_slice(), b"\0asm", b"\0asm\x01\0\0\0"] {
            assert!(find(none).is_empty());
            assert!(matches!(replaced(none, b""), Err(SectionError::NotAComponent(_))));
        }
        for contents in [b"".as_slice(), b"\xff", b"\x0fwitlet:manifes", b"\x00"] {
            let wasm = component(&[[&[CUSTOM][..], &leb128(contents.len()), contents].concat()]);
            assert!(find(&wasm).is_empty(), "{contents:?}");
        }
    }
}
