//! Attacks through folders: out of them, and on their size.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::{reported, reported_until};

/// How much is written at most: enough to tell whether there is a bound, too little to fill a disk.
const FILL_MEBIBYTES: usize = 192;
/// How many files are made at most.
const FILES: usize = 40_000;

pub(crate) fn run(word: &str, aim: &str) -> Option<String> {
    if !matches!(
        word,
        "read"
            | "write"
            | "symlink"
            | "symlink-folder"
            | "symlink-chain"
            | "hard-link"
            | "rename-out"
            | "make-folder"
            | "descriptors"
            | "fill"
            | "many-files"
            | "deep-folders"
            | "sparse"
            | "rewrite-forever"
            | "entries"
    ) {
        return None;
    }
    let Some((folder, _)) = get_directories().into_iter().next() else {
        return Some("refused: no folder".to_owned());
    };
    Some(match word {
        "read" => reported(read(&folder, aim)),
        "write" => reported(write(&folder, aim, 0)),
        "symlink" => {
            forget(folder.unlink_file_at("way-out"));
            match folder.symlink_at(aim, "way-out") {
                Ok(()) => reported(read(&folder, "way-out")),
                Err(error) => reported::<(), _>(Err(error)),
            }
        }
        "symlink-folder" => {
            forget(folder.unlink_file_at("way"));
            match folder.symlink_at(aim, "way") {
                Ok(()) => match read(&folder, "way/canary") {
                    Ok(text) => format!("done: {text}"),
                    Err(_) => reported(write(&folder, "way/planted", 0)),
                },
                Err(error) => reported::<(), _>(Err(error)),
            }
        }
        // Each link is innocent by itself.
        "symlink-chain" => {
            forget(folder.create_directory_at("a"));
            forget(folder.create_directory_at("a/b"));
            forget(folder.symlink_at("a/b/../..", "c"));
            forget(folder.symlink_at("c/..", "d"));
            reported(read(&folder, &format!("d/{aim}")))
        }
        "hard-link" => reported(folder.link_at(PathFlags::SYMLINK_FOLLOW, aim, &folder, "linked")),
        "rename-out" => match write(&folder, "mine", 0) {
            Ok(_) => reported(folder.rename_at("mine", &folder, aim)),
            Err(error) => reported::<(), _>(Err(error)),
        },
        "make-folder" => reported(folder.create_directory_at(aim)),
        "descriptors" => reported_until(|_| open(&folder, "kept", OpenFlags::CREATE), 10_000),
        "entries" => reported_until(|_| folder.read_directory(), 10_000),
        "fill" => reported_until(|mebibyte| write(&folder, "full", (mebibyte as u64) << 20), FILL_MEBIBYTES),
        "sparse" => {
            reported(open(&folder, "sparse", OpenFlags::CREATE).and_then(|file| file.set_size(1 << 50)))
        }
        "many-files" => reported_until(|number| write_small(&folder, &format!("file-{number}")), FILES),
        "deep-folders" => deep_folders(&folder),
        _ => loop {
            if let Err(error) = write(&folder, "again", 0) {
                return Some(reported::<(), _>(Err(error)));
            }
        },
    })
}

fn forget<T>(result: Result<T, ErrorCode>) {
    drop(result);
}

fn open(folder: &Descriptor, path: &str, flags: OpenFlags) -> Result<Descriptor, ErrorCode> {
    let rights = DescriptorFlags::READ | DescriptorFlags::WRITE;
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, flags, rights)
}

fn read(folder: &Descriptor, path: &str) -> Result<String, ErrorCode> {
    let file = folder.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ)?;
    let (bytes, _) = file.read(1000, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(folder: &Descriptor, path: &str, at: u64) -> Result<u64, ErrorCode> {
    open(folder, path, OpenFlags::CREATE)?.write(&vec![7; 1 << 20], at)
}

fn write_small(folder: &Descriptor, path: &str) -> Result<(), ErrorCode> {
    open(folder, path, OpenFlags::CREATE)?.write(b"x", 0).map(|_| ())
}

/// As deep as a path can be, and from there again.
fn deep_folders(folder: &Descriptor) -> String {
    let mut path = String::new();
    for depth in 0..4000 {
        path.push_str("dd");
        if let Err(error) = folder.create_directory_at(&path)
            && error != ErrorCode::Exist
        {
            return format!("refused after {depth}: {error:?}");
        }
        path.push('/');
    }
    "done".to_owned()
}
