//! The target `plugin_manifest` for cargo-fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| witlet_fuzz::run("plugin_manifest", data));
