//! witlet-plugin-sdk
