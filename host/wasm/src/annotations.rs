//! What a component's author wrote into it about its version, licence and source, as annotations of an OCI manifest
//! (<https://github.com/WebAssembly/tool-conventions/blob/main/Annotations.md>).

use std::collections::BTreeMap;

use wasmparser::{Parser, Payload};

/// Names of custom sections, and the annotations that they become. `created` is left out: when a manifest was made is for the push to say.
const ANNOTATIONS: [(&str, &str); 9] = [
    ("authors", "org.opencontainers.image.authors"),
    ("description", "org.opencontainers.image.description"),
    ("documentation", "org.opencontainers.image.documentation"),
    ("homepage", "org.opencontainers.image.url"),
    ("licenses", "org.opencontainers.image.licenses"),
    ("revision", "org.opencontainers.image.revision"),
    ("source", "org.opencontainers.image.source"),
    ("vendor", "org.opencontainers.image.vendor"),
    ("version", "org.opencontainers.image.version"),
];
/// How long a value may be; a longer one is left out, and so may be read in the component only.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// The annotations by key. Sections of what is nested in the component are about other software; one that is empty, too long or no text,
/// and what comes after damage, says nothing. Of two sections with one name the first counts.
pub fn annotations(wasm: &[u8]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 => {
                let annotation = ANNOTATIONS.iter().find(|(name, _)| *name == section.name());
                let data = Some(section.data()).filter(|data| (1..=VALUE_BYTES_MAX).contains(&data.len()));
                let value = data.and_then(|data| std::str::from_utf8(data).ok());
                if let (Some((_, key)), Some(value)) = (annotation, value) {
                    found.entry((*key).to_owned()).or_insert_with(|| value.to_owned());
                }
            }
            // What it does is the compiler's business.
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a custom section.
    const CUSTOM: u8 = 0;
    /// The number of a component's section that is a module.
    const MODULE: u8 = 1;

    /// A section of less than 16 KiB: its number, its length in LEB128, always of two bytes, its contents.
    fn section(number: u8, contents: &[u8]) -> Vec<u8> {
        let length = contents.len();
        assert!(length < 1 << 14, "{length} bytes");
        let low = u8::try_from(length & 0x7f).expect("seven bits");
        let high = u8::try_from(length >> 7).expect("seven bits");
        [&[number, low | 0x80, high][..], contents].concat()
    }

    fn custom(name: &str, data: &[u8]) -> Vec<u8> {
        let length = u8::try_from(name.len()).expect("a short name");
        section(CUSTOM, &[&[length][..], name.as_bytes(), data].concat())
    }

    fn component(sections: &[Vec<u8>]) -> Vec<u8> {
        [b"\0asm\x0d\0\x01\0".to_vec(), sections.concat()].concat()
    }

    #[test]
    fn sections_of_the_component_become_annotations() {
        let (longest, too_long) = (vec![b'x'; VALUE_BYTES_MAX], vec![b'x'; VALUE_BYTES_MAX + 1]);
        let module = [b"\0asm\x01\0\0\0".to_vec(), custom("version", b"of the module")].concat();
        let of = |key: &str, value: &str| Some((format!("org.opencontainers.image.{key}"), value.to_owned()));
        let cases: [(&str, Vec<Vec<u8>>, Option<_>); 11] = [
            ("a version", vec![custom("version", b"1.4.0")], of("version", "1.4.0")),
            (
                "a licence",
                vec![custom("licenses", b"Apache-2.0 OR MIT")],
                of("licenses", "Apache-2.0 OR MIT"),
            ),
            ("a page", vec![custom("homepage", b"https://example.com")], of("url", "https://example.com")),
            (
                "the longest value",
                vec![custom("authors", &longest)],
                of("authors", &"x".repeat(VALUE_BYTES_MAX)),
            ),
            ("two", vec![custom("source", b"a"), custom("source", b"b")], of("source", "a")),
            (
                "another after a module",
                vec![section(MODULE, &module), custom("vendor", b"v")],
                of("vendor", "v"),
            ),
            ("a nested one", vec![section(MODULE, &module)], None),
            ("too long a value", vec![custom("authors", &too_long)], None),
            ("an empty value", vec![custom("version", b"")], None),
            ("no text", vec![custom("version", b"\xff")], None),
            ("others", vec![custom("created", b"2026-01-02T03:04:05Z"), custom("name", b"x")], None),
        ];
        for (what, sections, expected) in cases {
            let found = annotations(&component(&sections));
            assert_eq!(found.into_iter().collect::<Vec<_>>(), Vec::from_iter(expected), "{what}");
        }
    }

    #[test]
    fn damage_ends_the_reading_and_keeps_what_came_before() {
        let whole = component(&[custom("version", b"1.4.0"), custom("source", b"here")]);
        let found = annotations(&whole[..whole.len() - 1]);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["org.opencontainers.image.version"]);
        assert!(annotations(b"no component").is_empty());
    }
}
