//! Manifests for components that are embedded: what `witlet plugin manifest` does for all others. What they say is not checked here: tests
//! of those who embed them read the components as the host does.

use std::path::Path;

use crate::error::BuildError;

/// The file next to a package's Cargo.toml that says what its component is.
pub(crate) const MANIFEST_FILE: &str = "plugin.json";

/// The custom section that holds a manifest (`docs/src/authors/manifest.md`).
const SECTION: &str = "witlet:manifest";
/// The number of a custom section.
const CUSTOM: u8 = 0;

/// The component with the manifest in a section at its end.
pub(crate) fn with_manifest(mut component: Vec<u8>, json: &str, path: &Path) -> Result<Vec<u8>, BuildError> {
    let manifest: serde_json::Value =
        serde_json::from_str(json).map_err(|cause| BuildError::Manifest { path: path.to_owned(), cause })?;
    let body = [&leb128(SECTION.len()), SECTION.as_bytes(), manifest.to_string().as_bytes()].concat();
    component.push(CUSTOM);
    component.extend(leb128(body.len()));
    component.extend(body);
    Ok(component)
}

/// A length as binaries have it.
fn leb128(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
        if length == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_becomes_a_section_at_the_end() {
        let path = Path::new("a/plugin.json");
        let made = with_manifest(
            b"component".to_vec(),
            "{\"config\": {\"type\": \"null\"},\n \"name\": \"a\"}\n",
            path,
        );
        let json = br#"{"config":{"type":"null"},"name":"a"}"#;
        let section = [b"\x0fwitlet:manifest", json.as_slice()].concat();
        let length = u8::try_from(section.len()).expect("it is short");
        assert_eq!(made.expect("it is JSON"), [b"component", &[CUSTOM, length][..], &section].concat());
        let refused = with_manifest(Vec::new(), "{", path).expect_err("it is no JSON").to_string();
        assert!(refused == "a/plugin.json is no JSON", "{refused}");
    }

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        assert_eq!(leb128(0), [0]);
        assert_eq!(leb128(127), [127]);
        assert_eq!(leb128(128), [0x80, 1]);
        assert_eq!(leb128(300), [0xac, 2]);
    }
}
