//! witlet-server
