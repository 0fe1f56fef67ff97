//! What can be read as an image, and what can't.

use std::os::unix::fs::symlink;

use super::*;

fn read_from(root: &Path, reference: &str) -> Result<Vec<u8>, String> {
    let file = reference::parse(reference).map_err(|error| error.to_string())?;
    read(reference, &file, root).map(|bytes| bytes.to_vec()).map_err(|error| error.to_string())
}

#[test]
fn relative_images_stay_in_their_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("images");
    std::fs::create_dir_all(root.join("sub")).expect("a folder");
    std::fs::write(folder.path().join("outside.wasm"), "outside").expect("a file");
    std::fs::write(root.join("sub/a.wasm"), "inside").expect("a file");
    symlink("sub/a.wasm", root.join("link-inside.wasm")).expect("a link");
    symlink("../outside.wasm", root.join("link-outside.wasm")).expect("a link");
    symlink(folder.path().join("outside.wasm"), root.join("link-absolute.wasm")).expect("a link");
    symlink("..", root.join("link-folder")).expect("a link");

    assert_eq!(read_from(&root, "file:sub/a.wasm"), Ok(b"inside".to_vec()));
    assert_eq!(read_from(&root, "file:link-inside.wasm"), Ok(b"inside".to_vec()));
    for escape in ["file:link-outside.wasm", "file:link-absolute.wasm", "file:link-folder/outside.wasm"] {
        let error = read_from(&root, escape).expect_err(escape);
        assert!(error.contains("must be inside of the image folder"), "{escape}: {error}");
    }
    let absolute = format!("file://{}", folder.path().join("outside.wasm").display());
    assert_eq!(read_from(&root, &absolute), Ok(b"outside".to_vec()));
}

#[test]
fn what_is_no_readable_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    std::fs::create_dir(root.join("folder.wasm")).expect("a folder");
    rustix::fs::mknodat(CWD, root.join("pipe.wasm"), rustix::fs::FileType::Fifo, Mode::RUSR, 0)
        .expect("a pipe");
    File::create(root.join("huge.wasm"))
        .and_then(|file| file.set_len(COMPONENT_BYTES_MAX as u64 + 1))
        .expect("a file with a hole");
    for (reference, words) in [
        ("file:absent.wasm", "there is no file"),
        ("file:folder.wasm/a.wasm", "there is no file"),
        ("file:folder.wasm", "is no regular file"),
        ("file:pipe.wasm", "is no regular file"),
        ("file:huge.wasm", "is larger than"),
    ] {
        let error = read_from(root, reference).expect_err(reference);
        assert!(error.contains(words) && error.contains(reference), "{reference}: {error}");
    }
}

#[test]
fn a_digest_is_read_as_it_was_written() {
    let digest: [u8; 32] = Sha256::digest(b"component").into();
    assert_eq!(unhex(&hex::encode(digest)), Some(digest));
    for text in
        ["", "00", &"0".repeat(63), &"0".repeat(65), &"zz".repeat(32), &"+1".repeat(32), &"ä".repeat(32)]
    {
        assert_eq!(unhex(text), None, "{text}");
    }
    assert_eq!(id_of(&blob_name("sha256:ab")), "sha256:ab");
}
