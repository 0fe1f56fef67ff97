//! A short text that changes with what a source has: a cursor for those whose place to check has no version of its own.

/// Where the hash FNV-1a with 64 bits begins.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// What it multiplies by, also of FNV-1a.
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A fingerprint of these parts in this order, of 16 hexadecimal digits. It is the same in every instance, process and version
/// of the SDK, so that it may be a cursor; another number or order of parts, or the same text cut elsewhere, has another one.
/// It detects changes that happen, not those that are made in order not to be seen: where that matters, take a
/// cryptographic hash.
///
/// ```
/// # use witlet_plugin_sdk_base::fingerprint;
/// let pods = ["web.json", r#"{"kind": "Pod"}"#];
/// assert_eq!(fingerprint(pods), "1bdbf9b58958e369");
/// assert_ne!(fingerprint(["ab", "c"]), fingerprint(["a", "bc"]));
/// ```
pub fn fingerprint(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = BASIS;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    };
    for part in parts {
        let part = part.as_ref();
        // Lengths keep parts apart.
        add(&(part.len() as u64).to_le_bytes());
        add(part);
    }
    format!("{hash:016x}")
}
