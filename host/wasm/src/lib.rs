//! witlet-wasm
