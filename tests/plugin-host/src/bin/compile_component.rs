//! The child that compiles components for the suites of this package.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use witlet_wasm::compile;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if compile::is_compile_command(&words) {
        return compile::child_main(words.into_iter().skip(1));
    }
    ExitCode::FAILURE
}
