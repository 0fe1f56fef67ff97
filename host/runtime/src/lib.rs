//! witlet-runtime
