//! The target `resolver_files` for cargo-fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| witlet_fuzz::run("resolver_files", data));
