//! What is no component, and how a child's end is reported.

use super::*;

fn status(raw: i32) -> ExitStatus {
    ExitStatus::from_raw(raw)
}

fn exited(code: i32) -> ExitStatus {
    status(code << 8)
}

#[test]
fn what_is_no_component_is_reported_as_what_it_is() {
    let component = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
    assert!(check_header(&component).is_ok());
    let cases: [(&[u8], &str); 6] = [
        (&[0, b'a', b's', b'm', 1, 0, 0, 0], "core module"),
        (&[0, b'a', b's', b'm', 9, 0, 0, 0], "unknown version"),
        (b"\x7fELF", "native program"),
        (b"", "empty"),
        (b"  (component)", "text"),
        (b"#!/bin/sh", "does not begin"),
    ];
    for (bytes, words) in cases {
        let reported = check_header(bytes).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(reported.contains(words), "{words:?} isn't in {reported:?}");
    }
    let large = vec![0; COMPONENT_BYTES_MAX + 1];
    assert!(matches!(check_header(&large), Err(CompileError::TooLarge { .. })));
}

#[test]
fn the_way_a_child_ended_is_named() {
    let limits = CompileLimits { cpu: Duration::from_secs(30), ..CompileLimits::default() };
    let cases = [
        (exited(child::EXIT_INVALID), "type mismatch", "invalid WebAssembly: type mismatch"),
        (status(libc::SIGXCPU), "", "compiling took longer than 30s"),
        (status(libc::SIGXFSZ), "", "the compiled code has more than 268435456 bytes"),
        (
            status(libc::SIGABRT),
            "memory allocation of 4096 bytes failed",
            "compiling took more than 2147483648 bytes of memory",
        ),
        (exited(101), "thread panicked: oh", "the compiler ended with exit status: 101: thread panicked: oh"),
        (status(libc::SIGSEGV), "", "the compiler ended with signal: 11 (SIGSEGV): "),
    ];
    for (status, message, expected) in cases {
        assert_eq!(failure(status, message.to_owned(), &limits).to_string(), expected);
    }
}

#[test]
fn keys_differ_by_component_and_engine() {
    let synchronous = crate::engine::compiling(EngineKind::Synchronous).expect("an engine");
    let asynchronous = crate::engine::compiling(EngineKind::Asynchronous).expect("an engine");
    let key = Key::new(&synchronous, EngineKind::Synchronous, b"one");
    assert_eq!(key, Key::new(&synchronous, EngineKind::Synchronous, b"one"));
    assert_ne!(key, Key::new(&synchronous, EngineKind::Synchronous, b"two"));
    assert_ne!(key, Key::new(&asynchronous, EngineKind::Asynchronous, b"one"));
    let pooled = crate::engine::synchronous().expect("an engine");
    assert_eq!(key, Key::new(&pooled, EngineKind::Synchronous, b"one"), "the pool doesn't shape the code");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.wasm");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("made");
    for path in [pipe.as_path(), folder.path(), std::path::Path::new("/dev/zero")] {
        let error = read_component(path).expect_err("no file").to_string();
        assert_eq!(error, "not a file", "{}", path.display());
    }
}
