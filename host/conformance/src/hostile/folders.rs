//! Folders that mean harm to whoever reads manifests from them: a good set, and beside it what can't be read.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::texts;

/// Larger than any manifest.
const HUGE_BYTES: usize = 8 << 20;
/// How many files a folder has that has too many.
const FILES: usize = 500;

/// What stands in a folder beside the good files.
#[derive(Clone, Debug)]
pub(crate) enum Beside {
    /// A file.
    File(&'static [u8], Vec<u8>),
    /// A link to somewhere.
    Link(&'static [u8], &'static str),
    /// A folder.
    Folder(&'static [u8]),
    /// So many files with nothing but an empty object in them.
    Files(usize),
}

/// One of them, with its name for people.
#[derive(Clone, Debug)]
pub(crate) struct HostileFolder {
    pub(crate) name: &'static str,
    pub(crate) beside: Beside,
}

/// All of them. The names are such that a source of JSON and one of YAML look at them.
pub(crate) fn folders() -> Vec<HostileFolder> {
    let file =
        |name, file: &'static [u8], bytes: Vec<u8>| HostileFolder { name, beside: Beside::File(file, bytes) };
    let mut folders = Vec::new();
    for (json, yaml, bytes, told) in [
        (
            &b"a-broken.json"[..],
            &b"a-broken.yaml"[..],
            b"{\"apiVersion\": ".to_vec(),
            ["a file of half an object", "a YAML file of half an object"],
        ),
        (b"a-empty.json", b"a-empty.yaml", Vec::new(), ["an empty file", "an empty YAML file"]),
        (
            b"a-binary.json",
            b"a-binary.yaml",
            vec![0xff, 0xfe, 0x00, 0xc3],
            ["a file that isn't UTF-8", "a YAML file that isn't UTF-8"],
        ),
        (
            b"a-null.json",
            b"a-null.yaml",
            b"null".to_vec(),
            ["a file of nothing but null", "a YAML file of nothing but null"],
        ),
        (b"a-text.json", b"a-text.yaml", b"\"text\"".to_vec(), ["a file of text", "a YAML file of text"]),
        (
            b"a-deep.json",
            b"a-deep.yaml",
            texts::deep_json().into_bytes(),
            ["a file of deeply nested JSON", "a YAML file of deeply nested JSON"],
        ),
        (b"a-huge.json", b"a-huge.yaml", vec![b' '; HUGE_BYTES], ["a file of 8 MiB", "a YAML file of 8 MiB"]),
        (
            b"a-other.json",
            b"a-other.yaml",
            br#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}"#.to_vec(),
            ["a file of another kind", "a YAML file of another kind"],
        ),
    ] {
        folders.push(file(told[0], json, bytes.clone()));
        folders.push(file(told[1], yaml, bytes));
    }
    folders.extend([
        file("a file without an extension", b"README", b"read me".to_vec()),
        file("a file whose name is hidden", b".hidden.json", b"{".to_vec()),
        file("a file whose name is nothing but an extension", b".json", b"{".to_vec()),
        file("a file whose name isn't UTF-8", b"a-\xff\xfe.json", b"{}".to_vec()),
        file("a file whose name has ends of lines", b"a\n\t.json", b"{}".to_vec()),
        file("a file whose name has letters of four bytes", "🦀🦀.json".as_bytes(), b"{}".to_vec()),
        HostileFolder { name: "a folder that is named as a file", beside: Beside::Folder(b"a-folder.json") },
        HostileFolder {
            name: "a link that leads nowhere",
            beside: Beside::Link(b"a-nowhere.json", "nobody.json"),
        },
        HostileFolder { name: "a link to itself", beside: Beside::Link(b"a-loop.json", "a-loop.json") },
        HostileFolder {
            name: "a link out of the folder",
            beside: Beside::Link(b"a-out.json", "/etc/hostname"),
        },
        HostileFolder { name: "500 files", beside: Beside::Files(FILES) },
    ]);
    folders
}

/// Writes it beside what a folder has.
///
/// # Errors
///
/// When the filesystem doesn't take it: not every one takes every name.
pub(crate) fn write(folder: &Path, beside: &Beside) -> io::Result<()> {
    let at = |name: &[u8]| folder.join(OsStr::from_bytes(name));
    match beside {
        Beside::File(name, bytes) => std::fs::write(at(name), bytes),
        Beside::Link(name, target) => std::os::unix::fs::symlink(target, at(name)),
        Beside::Folder(name) => std::fs::create_dir(at(name)),
        Beside::Files(count) => {
            (0..*count).try_for_each(|number| std::fs::write(folder.join(format!("a-{number}.json")), b"{}"))
        }
    }
}

/// Writes files in this order, for a folder that is listed as it was filled.
///
/// # Errors
///
/// When they can't be written.
pub(crate) fn write_in_order<'a>(
    folder: &Path,
    files: impl Iterator<Item = (&'a String, &'a Vec<u8>)>,
) -> io::Result<()> {
    files.into_iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}

/// Names in the order in which the filesystem lists them.
///
/// # Errors
///
/// When it can't be listed.
pub(crate) fn listed(folder: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Manifests of this many pods, in one file each, as JSON with names of both kinds: a source takes those that it knows.
pub(crate) fn good(count: usize) -> BTreeMap<String, Vec<u8>> {
    let manifest = |name: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "namespace": "default"}}, "spec": {{"containers": [{{"name": "app", "image": "registry.example.com/app:1"}}]}}}}"#
        )
    };
    let json = (0..count).map(|number| (format!("pod-{number}.json"), manifest(&format!("json-{number}"))));
    let yaml = (0..count).map(|number| (format!("pod-{number}.yaml"), manifest(&format!("yaml-{number}"))));
    json.chain(yaml).map(|(name, text)| (name, text.into_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::answers::identity;

    #[test]
    fn every_hostile_folder_can_be_made_and_is_named_once() {
        let mut names = std::collections::BTreeSet::new();
        for hostile in folders() {
            let folder = tempfile::tempdir().expect("a folder");
            write(folder.path(), &hostile.beside).expect(hostile.name);
            assert!(!listed(folder.path()).expect("it is there").is_empty(), "{}", hostile.name);
            assert!(names.insert(hostile.name), "{}", hostile.name);
        }
    }

    #[test]
    fn good_files_are_pods_of_different_names() {
        let files = good(2);
        let identities: std::collections::BTreeSet<_> = files
            .values()
            .map(|bytes| identity(std::str::from_utf8(bytes).expect("text")).expect("a pod"))
            .collect();
        assert_eq!((files.len(), identities.len()), (4, 4));
    }
}
