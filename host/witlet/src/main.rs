//! The program: all of it is in the library, which tests can reach.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    witlet::main()
}
