//! The target `cel_rules` for cargo-fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| witlet_fuzz::run("cel_rules", data));
