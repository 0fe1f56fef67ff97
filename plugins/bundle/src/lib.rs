//! witlet-plugins
