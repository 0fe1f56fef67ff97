//! witlet-build
