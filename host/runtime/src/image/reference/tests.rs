//! Cases for image references.

use super::*;

fn absolute(path: &str) -> Result<ImageFile, ReferenceError> {
    Ok(ImageFile::Absolute(path.into()))
}

fn relative(path: &str) -> Result<ImageFile, ReferenceError> {
    Ok(ImageFile::Relative(path.into()))
}

#[test]
fn references_name_files() {
    let own = |reference: &str| reference.to_owned();
    let cases: Vec<(&str, Result<ImageFile, ReferenceError>)> = vec![
        ("file:///srv/hello.wasm", absolute("/srv/hello.wasm")),
        ("file:/srv/hello.wasm", absolute("/srv/hello.wasm")),
        ("file:hello.wasm", relative("hello.wasm")),
        ("file:./a/hello.wasm", relative("./a/hello.wasm")),
        ("file:a b%20c.wasm", relative("a b%20c.wasm")),
        ("file:..hello.wasm", relative("..hello.wasm")),
        ("file://hello.wasm", Err(ReferenceError::Host { reference: own("file://hello.wasm") })),
        ("file://host/a.wasm", Err(ReferenceError::Host { reference: own("file://host/a.wasm") })),
        ("file:../a.wasm", Err(ReferenceError::Upwards { reference: own("file:../a.wasm") })),
        ("file:a/../../b.wasm", Err(ReferenceError::Upwards { reference: own("file:a/../../b.wasm") })),
        ("file:///a/../b.wasm", Err(ReferenceError::Upwards { reference: own("file:///a/../b.wasm") })),
        ("file:", Err(ReferenceError::Empty { reference: own("file:") })),
        ("file:///", Err(ReferenceError::Empty { reference: own("file:///") })),
        ("file:.", Err(ReferenceError::Empty { reference: own("file:.") })),
        ("file:a\0b", Err(ReferenceError::ZeroByte { reference: own("file:a\0b") })),
        ("busybox", Err(ReferenceError::NotAFile { reference: own("busybox") })),
        ("FILE:a.wasm", Err(ReferenceError::NotAFile { reference: own("FILE:a.wasm") })),
        ("", Err(ReferenceError::NotAFile { reference: own("") })),
    ];
    for (reference, expected) in cases {
        assert_eq!(parse(reference), expected, "{reference:?}");
    }
}
