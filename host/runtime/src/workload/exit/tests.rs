//! Cases for the ends of workloads.

use wasmtime::{Trap, format_err};

use super::*;

#[test]
fn every_end_has_the_code_and_the_reason_of_a_process() {
    let exceeded = MemoryExceeded { limit_bytes: 1 << 20 };
    let in_context = |error: wasmtime::Error| error.context("error while executing");
    let cases = [
        (Ok(Ok(())), 0, "Completed", ""),
        (Ok(Err(())), 1, "Error", ""),
        (Err(format_err!(I32Exit(0))), 0, "Completed", ""),
        (Err(format_err!(I32Exit(7))), 7, "Error", ""),
        (Err(in_context(format_err!(I32Exit(255)))), 255, "Error", ""),
        (Err(in_context(wasmtime::Error::new(exceeded))), 137, "OOMKilled", "1048576 bytes"),
        (Err(wasmtime::Error::new(Trap::UnreachableCodeReached)), 134, "Error", "unreachable"),
        (Err(wasmtime::Error::new(Trap::StackOverflow)), 134, "Error", "call stack exhausted"),
    ];
    for (outcome, code, reason, words) in cases {
        let described = format!("{outcome:?}");
        let exit = Exit::of(outcome);
        assert_eq!((exit.code, exit.reason.name()), (code, reason), "{described}");
        assert!(exit.message.contains(words), "{described}: {}", exit.message);
        assert_eq!(exit.message.is_empty(), words.is_empty(), "{described}: {}", exit.message);
    }
}

#[test]
fn long_messages_are_cut_between_characters() {
    let exit = Exit::not_started(&"ü".repeat(MESSAGE_BYTES_MAX));
    assert_eq!(exit.message, "ü".repeat(MESSAGE_BYTES_MAX / 2));
    assert_eq!((exit.code, exit.reason.name()), (128, "StartError"));
}
