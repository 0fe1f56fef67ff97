//! `make install` and `make uninstall`, with a cargo that only says what it has built.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::root;

/// Writes a program.
fn program(path: &Path, text: &str) {
    fs::write(path, text).expect("a temporary folder");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a temporary folder");
}

/// Runs `make` in the repository for a folder with the program `cargo`, to install into `destination` below it.
fn make(target: &str, folder: &Path) -> Output {
    let variable = |name: &str, value: &str| format!("{name}={}", folder.join(value).display());
    Command::new("make")
        .args(["--no-print-directory", target, "PREFIX=/usr", "INSTALL=install"])
        .args([variable("CARGO", "cargo"), variable("DESTDIR", "the destination")])
        // An outer make's are meant for it.
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS")
        .current_dir(root())
        .output()
        .expect("make can be started")
}

#[test]
fn make_installs_what_cargo_has_built_and_removes_it_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let built = folder.path().join("target folder/release/witlet");
    fs::create_dir_all(built.parent().expect("it is below a folder")).expect("a temporary folder");
    let installed = folder.path().join("the destination/usr/bin/witlet");
    let artifact = |executable: &str| {
        format!("echo '{{\"reason\":\"compiler-artifact\",\"executable\":{executable},\"fresh\":true}}'\n")
    };
    let builds = artifact("null") + &artifact(&format!("\"{}\"", built.display()));
    // What cargo does, and what make ends with.
    let cases = [("", artifact("null"), 2), ("exit 1\n", builds.clone(), 2), ("", builds, 0)];
    for (number, (before, messages, code)) in cases.iter().enumerate() {
        let text = format!("#!/bin/sh\n{before}case \"$*\" in *--message-format*)\n{messages};; esac\n");
        program(&folder.path().join("cargo"), &text);
        program(&built, &format!("built {number}"));
        let output = make("install", folder.path());
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "case {number}: {printed}");
        assert_eq!(installed.exists(), *code == 0, "case {number}: {printed}");
    }
    assert_eq!(fs::read_to_string(&installed).expect("it is installed"), "built 2");
    let mode = fs::metadata(&installed).expect("it is installed").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    for _ in 0..2 {
        assert!(make("uninstall", folder.path()).status.success());
        assert!(!installed.exists());
    }
}
