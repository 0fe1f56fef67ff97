//! What is too large or no text is refused, and never read to its end.

use super::*;

#[test]
fn a_file_is_read_up_to_its_bound_and_a_device_without_end_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let words = |error: Error| (error.kind(), error.to_string());
    for (content, expected) in [
        (&b"123"[..], Ok("123")),
        (b"1234", Ok("1234")),
        (b"12345", Err((ErrorKind::FileTooLarge, "the file must have at most 4 bytes"))),
        (b"ab\xff", Err((ErrorKind::InvalidData, "the file must be UTF-8 text: invalid byte at offset 2"))),
    ] {
        std::fs::write(&path, content).unwrap();
        let expected = expected.map(str::to_owned).map_err(|(kind, words)| (kind, words.to_owned()));
        assert_eq!(read_text(&path, 4).map_err(words), expected);
    }
    assert_eq!(read(Path::new("/dev/zero"), 4).map_err(words).unwrap_err().0, ErrorKind::FileTooLarge);
    assert_eq!(read(&folder.path().join("none"), 4).map_err(words).unwrap_err().0, ErrorKind::NotFound);
}
